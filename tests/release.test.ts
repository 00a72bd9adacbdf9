/**
 * A release without its images, which need an engine (`npm run prove release`). A stranger without a checkout runs the
 * package from a `node_modules`, and the first chat succeeds. The package is unpacked as npm does it; its dependencies
 * are those that the workspace has, so the test calls no registry.
 */

import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { globSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, realpath, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { showRoutersReply } from '@gateway/contracts/routers-api'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { billOfMaterials } from '../scripts/release/bill-of-materials.ts'
import { versionOf } from '../scripts/release/versions.ts'
import { userMessages, newGuest } from './promises/gateway.ts'
import { startStandalone } from './promises/standalone.ts'

const run = promisify(execFile)
const SOON = { timeout: 60_000, interval: 50 }
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())

let folder: string
let command: string
let version: string
/** An empty home, as on a machine where nobody has worked. */
let environment: Record<string, string>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-stranger-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  await run(process.execPath, ['scripts/release/main.ts', join(folder, 'release'), '--without-images'])
  version = versionOf('.')
  environment = { PATH: process.env['PATH']!, HOME: folder }
  const installed = join(folder, 'node_modules/model-gateway')
  await mkdir(installed, { recursive: true })
  await run('tar', [
    '-xzf',
    join(folder, `release/model-gateway-${version}.tgz`),
    '--strip-components',
    '1',
    '-C',
    installed,
  ])
  const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as Manifest
  for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })) await link(name)
  command = join(installed, manifest.bin['model-gateway']!)
  const bin = join(folder, 'node_modules/.bin')
  await mkdir(bin, { recursive: true })
  await symlink(command, join(bin, 'model-gateway'))
})

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

test('the installed gateway serves a chat and its console, and ends on SIGTERM', async () => {
  await using gateway = await startStandalone({ command: [command], environment })
  const { client } = await newGuest({ urls: [gateway.url], issuer: gateway.issuer })
  const reply = await client.chat.completions.create({ model: 'svc-best', messages: userMessages('Say: it works') })
  expect(reply.choices[0]!.message.content).toBe('it works')
  // The second of a stranger's two commands is the one that the first prints.
  const printed = gateway.output.slice(gateway.output.indexOf('Try it:') + 'Try it:'.length)
  const { stdout: chat } = await run('sh', ['-ec', printed.slice(0, printed.lastIndexOf('}') + 2)])
  expect(JSON.parse(chat)).toMatchObject({ object: 'chat.completion' })
  expect(await (await fetch(`${gateway.url}/console/`)).text()).toContain('<div id="root">')

  const { stdout } = await run(command, ['ctl', 'backends'], { env: { ...environment, DATA_DIR: gateway.dataDir } })
  expect(stdout).toContain('simulated')
  expect(await gateway.stop('SIGTERM')).toBe(0)
})

test("an administrator's commands reach a gateway over HTTP, from an empty folder and an empty home", async () => {
  await using gateway = await startStandalone({ command: [command], environment })
  const onSocket = { env: { ...environment, DATA_DIR: gateway.dataDir } }
  const { stdout: created } = await run(command, ['ctl', '--json', 'admin-keys', 'create'], onSocket)
  const { value } = JSON.parse(created) as { value: string }
  const cwd = join(folder, 'administrator')
  const HOME = join(folder, 'home')
  for (const empty of [cwd, HOME]) await mkdir(empty)
  const env = { ...environment, HOME, GATEWAY_ADMIN_KEY: value }
  const ctl = async (...words: string[]): Promise<unknown> => {
    const npx = ['--no', '--', 'model-gateway', 'ctl', '--json', '--url', gateway.url, ...words]
    const { stdout } = await run('npx', npx, { cwd, env })
    return JSON.parse(stdout)
  }

  const { id } = (await ctl('projects', 'create', 'search')) as { id: string }
  expect(await ctl('projects', 'list')).toMatchObject([{ id, name: 'search', status: 'active' }])
  expect(await ctl('accounts', 'set-plan', id, 'pro')).toMatchObject({ plan: 'pro' })
  const topUp = ['accounts', 'top-up', id, '1000', '--id', randomUUID()]
  expect(await ctl(...topUp)).toEqual(await ctl(...topUp))
  const control = async () => {
    const { routers } = showRoutersReply.parse(await ctl('backends'))
    return routers.map(({ backends }) => backends.find(({ backend }) => backend === 'simulated-a')!.control)
  }
  expect(await ctl('backends', 'drain', 'simulated-a')).toMatchObject({ control: 'drained' })
  await expect.poll(control, SOON).toEqual(['drained'])
  expect(await ctl('backends', 'restore', 'simulated-a')).toMatchObject({ control: null })
  await expect.poll(control, SOON).toEqual([null])
  expect(await ctl('projects', 'archive', id)).toMatchObject({ status: 'archived' })
  // The admin key, the project, its plan, the top-up, drain, restore and archive.
  expect(await ctl('audit', 'verify')).toMatchObject({ checked: 7, problem: null })
})

test('its help lists the commands that such a user has', async () => {
  const { stdout } = await run(command, ['--help'], { env: environment })
  expect(stdout).toContain('npx model-gateway --backend http://127.0.0.1:11434/v1')
  expect(stdout).not.toContain('npm start')
})

test('a bill of materials names the packages of an image, and is the same whenever it is written', async () => {
  const described = { target: 'keys', version, digest: 'sha256:c0ffee', base: 'node:26', createdAt: 1_790_000_000 }
  const bill = await billOfMaterials(described)
  const { components, metadata } = JSON.parse(bill.toString()) as {
    components: { name?: string; purl?: string }[]
    metadata: { timestamp: string; component: { purl: string } }
  }
  expect(components.map(({ purl }) => purl)).toContainEqual(expect.stringContaining('pkg:npm/ioredis@'))
  expect(components.at(-1)).toMatchObject({ type: 'container', name: 'node:26' })
  expect(metadata).toMatchObject({
    timestamp: '2026-09-21T14:13:20.000Z',
    component: { purl: 'pkg:oci/keys@sha256%3Ac0ffee' },
  })
  expect((await billOfMaterials(described)).toString()).toBe(bill.toString())
})
