/**
 * The day of `docs/administration.md`: its commands and programs run as printed, from top to bottom, on a gateway of `npm start`. The
 * script of forty teams has a test of its own.
 */

import { execFile } from 'node:child_process'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type OpenAI from 'openai'
import { expect, test } from 'vitest'
import { bareEnvironment } from '../promises/bare-environment.ts'
import { startStandalone } from '../promises/standalone.ts'

const run = promisify(execFile)
const ADDRESS = 'http://127.0.0.1:8080'
const CTL = /npm run (?:--silent )?ctl --/g

/** Between two blocks of the page: a developer with the named key chats until the limit, and prints the error. */
const REACH_LIMIT = `
const developer = new OpenAI({ apiKey: nightly.value, maxRetries: 0 })
const chat = () => developer.chat.completions.create(
  { model: 'svc-fast', messages: [{ role: 'user', content: 'Hello!' }] },
  { headers: { 'x-svc-tags': 'team=search' } },
)
const reachLimit = () => chat().then(reachLimit, ({ error }) => error)
console.log('REFUSED', JSON.stringify(await reachLimit()))
`
const AFTER_RAISE = `
await chat()
console.log('RAISED')
`
/** Costs come from the ledger, a moment after the response. */
const UNTIL_METERED = `
const metered = async () => (await usage.costs({ start_time: Math.floor(Date.now() / 1_000) - 86_400, limit: 31 })).data
while ((await metered()).every(({ results }) => results.length === 0)) await new Promise((next) => setTimeout(next, 50))
console.log('GONE', await chat().catch(({ status }) => status))
`
/** The key of the page is the only one. */
const LOSE_KEY = `LOST_KEY_ID=$("$NODE" packages/ctl/src/main.ts admin-keys list | sed -n 's/^\\(key_[^ ]*\\).*/\\1/p')`

test('the day of the page on administration runs as printed', async () => {
  await using stack = new AsyncDisposableStack()
  const gateway = stack.use(await startStandalone())
  const page = await readFile(join(import.meta.dirname, '../../docs/administration.md'), 'utf8')
  const blocks = [...page.matchAll(/^```(sh|js|json)\n(.*?)^```/gms)].map(([, language, text]) => ({
    language,
    text: text!.replaceAll(ADDRESS, gateway.url).replaceAll(CTL, '"$NODE" packages/ctl/src/main.ts'),
  }))
  const textsOf = (which: string) => blocks.filter(({ language }) => language === which).map(({ text }) => text)
  const [firstKey, ...later] = textsOf('sh')
  const [, morning, noon, afternoon, monthsEnd] = textsOf('js')
  const [refusal] = textsOf('json')
  expect([later.length, textsOf('js').length, textsOf('json').length]).toEqual([2, 5, 1])

  const folder = join(process.cwd(), '.artifacts')
  await mkdir(folder, { recursive: true })
  const file = join(folder, `administration-${process.pid}.mjs`)
  stack.defer(() => rm(file, { force: true }))
  const program = [morning, REACH_LIMIT, noon, AFTER_RAISE, afternoon, UNTIL_METERED, monthsEnd]
  await writeFile(file, program.join('\n'))
  const [backends, lostKey] = later
  const status = `curl -s -o /dev/null -w 'STATUS %{http_code}\\n' -H "authorization: Bearer $OPENAI_ADMIN_KEY" ${gateway.url}/v1/organization/projects`
  const script = [firstKey, `"$NODE" ${file}`, backends, status, LOSE_KEY, lostKey, status]
  const environment = { ...bareEnvironment(), DATA_DIR: gateway.dataDir, NODE: process.execPath }
  const { stdout } = await run('sh', ['-ec', script.join('\n')], { env: environment })

  const shown = JSON.parse(refusal!) as { error: Record<string, unknown> }
  const seen = JSON.parse(/^REFUSED (.*)$/m.exec(stdout)![1]!) as OpenAI.ErrorObject
  expect({ ...seen, message: '', retry_after_ms: 0 }).toEqual({ ...shown.error, message: '', retry_after_ms: 0 })
  expect(withoutNumbers(seen.message)).toBe(withoutNumbers(String(shown.error['message'])))
  expect(stdout).toMatch(/^RAISED$/m)
  expect(stdout).toMatch(/^\d+ api_key.deleted \{/m)
  expect(stdout).toMatch(/^GONE 401$/m)
  expect(stdout).toMatch(/^proj_\w+ svc-fast 0\.\d+$/m)
  expect(stdout).toMatch(/^simulated-a gets no new request/m)
  expect(stdout).toMatch(/^simulated-a is in use again$/m)
  expect(stdout.match(/^STATUS \d+$/gm)).toEqual(['STATUS 200', 'STATUS 401'])
  expect(stdout).toMatch(/^\d+ rows are as the gateway wrote them/m)
})

const withoutNumbers = (text: string) => text.replaceAll(/\d+/g, '0')
