/**
 * The console as people meet it: `npm start` with backends that a test can break, and a browser in front.
 *
 * The stage watches every visit. A request to another host, a breach of the page's policy, an error of its script or
 * anything in the browser's storage fails any test. So does a call that the person may not make.
 */

import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { createDefaultConfig } from '@gateway/contracts/default-config'
import { startBackend, type Backend } from '@gateway/stand-ins/backend'
import { findBrowser } from '@gateway/servers/start'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { runCtl } from '../promises/run-ctl.ts'
import { startStandalone, type Standalone } from '../promises/standalone.ts'

const ROOT = resolve(import.meta.dirname, '../..')
export const SCREENSHOTS = join(ROOT, '.artifacts', 'console')
const FLAGS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
  ...['--disable-background-networking', '--disable-component-update'],
]

/** Served by one backend each, which a test may break; nobody else uses them. */
const FRAIL_MODELS = ['frail-1', 'frail-2', 'frail-3', 'frail-4', 'frail-5'] as const

export interface Stage {
  readonly gateway: Standalone
  readonly backend: Backend
  /** `others`: origins that the page may call besides the gateway and the identity provider. */
  visit(options?: BrowserContextOptions, others?: string[]): Promise<Visit>
  ctl(...args: string[]): Promise<void>
}

export interface Visit {
  readonly page: Page
  /** Of the page as it is, into a folder of its own that git ignores. */
  shot(name: string): Promise<void>
}

export type StageOptions = Parameters<typeof startStandalone>[0] & {
  /** Where the console is, when it has a host of its own. */
  consoleUrl?: string
  /** Sections of the config besides the stage's own. */
  sections?: object
}

/** Opens the stage before the tests of a file and closes it after them. */
export function useStage({ consoleUrl, sections, ...options }: StageOptions = {}): Stage {
  const stack = new AsyncDisposableStack()
  let gateway: Standalone
  let backend: Backend
  let browser: Browser
  const watches: Watch[] = []

  beforeAll(async () => {
    await mkdir(SCREENSHOTS, { recursive: true })
    backend = stack.use(await startBackend({ tokensPerSecond: 400 }))
    gateway = stack.use(await startStandalone({ config: { ...configFor(backend), ...sections }, ...options }))
    browser = await chromium.launch({ executablePath: await findBrowser(), args: FLAGS })
    stack.defer(() => browser.close())
  })
  afterEach(async () => {
    for (const watch of watches.splice(0)) await watch.end()
  })
  afterAll(() => stack.disposeAsync(), 60_000)

  return {
    get gateway() {
      return gateway
    },
    get backend() {
      return backend
    },
    async visit(contextOptions = {}, others = []) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...contextOptions })
      context.setDefaultTimeout(15_000)
      const page = await context.newPage()
      watches.push(await watchPage(page, [gateway.url, gateway.issuer, ...(consoleUrl ? [consoleUrl] : []), ...others]))
      return {
        page,
        shot: async (name) => void (await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) })),
      }
    },
    async ctl(...args) {
      const said = await runCtl(args, { DATA_DIR: gateway.dataDir })
      if (said.code !== 0) throw new Error(said.err)
    },
  }
}

interface Watch {
  end(): Promise<void>
}

async function watchPage(page: Page, reachable: string[]): Promise<Watch> {
  const faults: string[] = []
  const allowed = new Set(reachable.map((url) => new URL(url).origin))
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`))
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url())
    if (protocol !== 'data:' && !allowed.has(origin)) faults.push(`asked ${request.url()}`)
  })
  page.on('response', (response) => {
    if (response.status() === 403) faults.push(`may not call ${response.request().method()} ${response.url()}`)
  })
  await page.exposeFunction('reportViolation', (text: string) => faults.push(`broke the policy: ${text}`))
  await page.addInitScript(() => {
    const notify = (window as unknown as { reportViolation(text: string): void }).reportViolation
    document.addEventListener('securitypolicyviolation', (event) =>
      notify(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`),
    )
  })
  return {
    async end() {
      const stored = page.url().includes('/console')
        ? await page.evaluate(() => [...Object.keys(localStorage), ...Object.keys(sessionStorage)])
        : []
      await page.context().close()
      expect([...faults, ...stored.map((key) => `stored ${key}`)]).toEqual([])
    },
  }
}

/** The default models on our backend, frail ones besides, and plans whose limits a test can reach. */
function configFor({ url }: Backend): object {
  const { pools, models, plans } = createDefaultConfig()
  const backend = (id: string) => ({
    id,
    url,
    headers: { 'x-simulated-backend': id },
    timeouts: { connectMs: 1_000, firstByteMs: 4_000, idleMs: 2_000 },
    capabilities: ['chat', 'tools', 'vision', 'embeddings', 'images'],
  })
  const onSteady = pools.map(({ id, affinity, targets }) => ({
    id,
    affinity,
    targets: [{ ...targets[0]!, backend: 'steady' }],
  }))
  return {
    backends: ['steady', ...FRAIL_MODELS].map(backend),
    pools: [...onSteady, ...FRAIL_MODELS.map((id) => ({ id, targets: [{ backend: id, model: `sim-${id}` }] }))],
    models: [
      ...models,
      ...FRAIL_MODELS.map((id) => ({ id, type: 'chat', pool: id, multiplier: 2, maxOutputTokens: 8_192 })),
    ],
    plans: [
      ...plans,
      { slug: 'tiny', limit: 10_000, rpm: 60, tpm: 60_000 },
      { slug: 'flexible', limit: 10_000, rpm: 60, tpm: 60_000, ownersSwitchOverage: 'limited' },
      { slug: 'slow', limit: 1_000_000, rpm: 2, tpm: 60_000 },
    ],
  }
}
