/**
 * A stranger without a checkout: the release's package runs from a `node_modules`, and the first chat is answered. The
 * package is unpacked as npm does it; its dependencies are those that the workspace has, so no registry is asked.
 */

import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, realpath, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
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
  environment = { PATH: process.env['PATH']!, HOME: folder }
  const [, archive] = /(model-gateway-[\d.]+\.tgz)/.exec(await readFile(join(folder, 'release/SHA256SUMS'), 'utf8'))!
  const installed = join(folder, 'node_modules/model-gateway')
  await mkdir(installed, { recursive: true })
  await run('tar', ['-xzf', join(folder, 'release', archive!), '--strip-components', '1', '-C', installed])
  const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as Manifest
  for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })) await link(name)
  command = join(installed, manifest.bin['model-gateway']!)
}, 60_000)

interface Manifest {
  bin: Record<string, string>
  dependencies: Record<string, string>
  optionalDependencies: Record<string, string>
}

/** A dependency of the package, as some part of the workspace has it; none for another operating system. */
async function link(name: string): Promise<void> {
  const [found] = globSync(`{.,packages/*,services/*}/node_modules/${name}`)
  if (!found) return
  const at = join(folder, 'node_modules', name)
  await mkdir(dirname(at), { recursive: true })
  await symlink(await realpath(found), at)
}

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
