/**
 * The acceptance suite of Open Responses, which is TypeScript for Bun: Node takes its types away while it loads. Nothing of
 * the suite is in this repository.
 */

import { existsSync, readFileSync } from 'node:fs'
import { mkdir, readFile, rename, rm } from 'node:fs/promises'
import { createRequire, registerHooks, stripTypeScriptTypes } from 'node:module'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import * as z from 'zod'
import { npmPackages } from '../../../scripts/npm-packages.ts'
import { CACHE, run } from '../../../scripts/python.ts'

/** Of 2026-07-14: specification 2026-04-24, 17 tests. */
const COMMIT = '92c12d96d7b61d6d15e2214daa5e9c6000ab6e1c'
const TESTS = 'src/lib/compliance-tests.ts'

export interface SuiteConfig {
  baseUrl: string
  apiKey: string
  authHeaderName: string
  useBearerPrefix: boolean
  model: string
  runtime: 'server'
}

export interface SuiteResult {
  id: string
  name: string
  status: 'pending' | 'running' | 'passed' | 'failed' | 'skipped'
  errors?: string[]
}

export interface Suite {
  testTemplates: { id: string; name: string }[]
  runAllTests(config: SuiteConfig, onProgress: (result: SuiteResult) => void): Promise<SuiteResult[]>
}

/** `folder`: a checkout that the caller has. */
export async function findSuite(folder: string | undefined, repository: string): Promise<Suite> {
  const root = folder === undefined ? await fetched(repository) : resolve(folder)
  if (!existsSync(join(root, TESTS))) throw new Error(`${root} is no checkout of Open Responses: it lacks ${TESTS}`)
  await loadFrom(root)
  return (await import(pathToFileURL(join(root, TESTS)).href)) as Suite
}

async function fetched(repository: string): Promise<string> {
  const folder = join(CACHE, `open-responses-${COMMIT}`)
  if (existsSync(folder)) return folder
  if (process.env['GATEWAY_NO_INSTALL']) {
    throw new Error('the suite of Open Responses is missing and GATEWAY_NO_INSTALL forbids to fetch it')
  }
  process.stderr.write(`fetching ${COMMIT} of ${repository}\n`)
  const making = `${folder}.new`
  await rm(making, { recursive: true, force: true })
  await mkdir(making, { recursive: true })
  const git = (...args: string[]) => run('git', ['-C', making, ...args])
  await git('init', '--quiet')
  await git('fetch', '--quiet', '--depth', '1', repository, COMMIT)
  await git('checkout', '--quiet', 'FETCH_HEAD')
  await rename(making, folder)
  return folder
}

const dependencies = z.object({ dependencies: z.object({ zod: z.string() }) })

/** Its imports name no file's ending, and it comes without its packages. */
async function loadFrom(root: string): Promise<void> {
  const manifest = dependencies.parse(JSON.parse(await readFile(join(root, 'package.json'), 'utf8')))
  const zod = manifest.dependencies.zod.replace('^', '')
  const packages = await npmPackages({
    folder: `open-responses-zod-${zod}`,
    packages: { zod },
    notice: 'installing',
  })
  const ownZod = pathToFileURL(createRequire(join(packages, 'package.json')).resolve('zod')).href
  const base = pathToFileURL(`${root}/`).href
  registerHooks({
    resolve(specifier, context, next) {
      if (!context.parentURL?.startsWith(base)) return next(specifier, context)
      if (specifier === 'zod') return next(ownZod, context)
      const isBare = specifier.startsWith('.') && !/\.(?:ts|js|json)$/.test(specifier)
      return next(isBare ? `${specifier}.ts` : specifier, context)
    },
    load(url, context, next) {
      if (!url.startsWith(base) || !url.endsWith('.ts')) return next(url, context)
      const source = stripTypeScriptTypes(readFileSync(fileURLToPath(url), 'utf8'))
      return { format: 'module', source, shortCircuit: true }
    },
  })
}
