/**
 * A stranger without a checkout: npm installs the release's package, and the first chat is answered.
 */

import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, newGuest } from './promises/gateway.ts'
import { startStandalone } from './promises/standalone.ts'

const run = promisify(execFile)
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())

let folder: string
let command: string
/** An empty home, as on a machine where nobody has worked. */
let environment: Record<string, string>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-stranger-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  await run(process.execPath, ['scripts/release/main.ts', join(folder, 'release')])
  await writeFile(join(folder, 'package.json'), '{}')
  environment = { PATH: process.env['PATH']!, HOME: folder, npm_config_update_notifier: 'false' }
  const [, archive] = /(model-gateway-[\d.]+\.tgz)/.exec(await readFile(join(folder, 'release/SHA256SUMS'), 'utf8'))!
  await run('npm', ['install', '--no-audit', '--no-fund', join(folder, 'release', archive!)], {
    cwd: folder,
    env: environment,
  })
  command = join(folder, 'node_modules/.bin/model-gateway')
}, 300_000)

test('the checksums of a release are those of its files', async () => {
  await run('sha256sum', ['--check', 'SHA256SUMS'], { cwd: join(folder, 'release') })
})

test('the installed gateway answers a chat, serves its console, and ends when it is told', async () => {
  await using gateway = await startStandalone({ command: [command], environment })
  const { client } = await newGuest({ urls: [gateway.url], issuer: gateway.issuer })
  const answer = await client.chat.completions.create({ model: 'svc-best', messages: ask('Say: it works') })
  expect(answer.choices[0]!.message.content).toBe('it works')
  expect(await (await fetch(`${gateway.url}/console/`)).text()).toContain('<div id="root">')

  const { stdout } = await run(command, ['ctl', 'backends'], { env: { ...environment, DATA_DIR: gateway.dataDir } })
  expect(stdout).toContain('simulated')
  expect(await gateway.stop('SIGTERM')).toBe(0)
})

test('its page tells the commands that such a user has', async () => {
  const { stdout } = await run(command, ['--help'], { env: environment })
  expect(stdout).toContain('npx model-gateway --backend http://127.0.0.1:11434/v1')
  expect(stdout).not.toContain('npm start')
})
