/**
 * A release is made once, and each of its parts runs from an empty place. A stranger without a checkout runs the package from a
 * `node_modules`, and the first chat is answered. The package is unpacked as npm does it; its dependencies are those that the
 * workspace has, so no registry is asked. Each image runs from its own layers alone, without an engine.
 */

import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, realpath, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { targets } from '../scripts/deploy/dockerfile.ts'
import { makeBase } from '../scripts/release/images/base.ts'
import { makeImage } from '../scripts/release/images/images.ts'
import { canMakeBase } from '../scripts/release/images/minimal-base.ts'
import { versionOf, versionOfImage } from '../scripts/release/versions.ts'
import { sha256 } from '../scripts/release/write-tar.ts'
import { type Layout, readLayout, runImage, unpackLayer } from './images/unpacked.ts'
import { ask, newGuest } from './promises/gateway.ts'
import { startStandalone } from './promises/standalone.ts'

const run = promisify(execFile)
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())

let folder: string
let command: string
let version: string
let createdAt: number
/** An empty home, as on a machine where nobody has worked. */
let environment: Record<string, string>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-stranger-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  await run(process.execPath, ['scripts/release/main.ts', join(folder, 'release')])
  version = versionOf('.')
  createdAt = Number((await run('git', ['log', '-1', '--format=%ct'])).stdout)
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

test('the installed gateway answers a chat, serves its console, and ends when it is told', async () => {
  await using gateway = await startStandalone({ command: [command], environment })
  const { client } = await newGuest({ urls: [gateway.url], issuer: gateway.issuer })
  const answer = await client.chat.completions.create({ model: 'svc-best', messages: ask('Say: it works') })
  expect(answer.choices[0]!.message.content).toBe('it works')
  // The second of a stranger's two commands is the one that the first prints.
  const printed = gateway.output.slice(gateway.output.indexOf('Try it:') + 'Try it:'.length)
  const { stdout: chat } = await run('sh', ['-ec', printed.slice(0, printed.lastIndexOf('}') + 2)])
  expect(JSON.parse(chat)).toMatchObject({ object: 'chat.completion' })
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

describe.runIf(canMakeBase)('images', () => {
  const archiveOf = (target: string) =>
    join(folder, `release/model-gateway-${target}-${versionOfImage('.', target)}.oci.tar`)
  const layouts = new Map<string, Layout>()
  let root: string
  beforeAll(async () => {
    for (const target of targets) layouts.set(target, await readLayout(archiveOf(target)))
    root = join(folder, 'root')
    await unpackLayer(layouts.get('edge')!.layers[0]!, root)
  })

  test('every name in an archive is the digest of its content, compressed and not', () => {
    const diffIds = new Map<string, string>()
    for (const { layers } of layouts.values()) {
      for (const { digest, content } of layers) {
        if (!diffIds.has(digest)) diffIds.set(digest, `sha256:${sha256(gunzipSync(content))}`)
      }
    }
    for (const { blobs, config, layers } of layouts.values()) {
      expect(blobs.filter(({ digest, content }) => sha256(content) !== digest)).toEqual([])
      expect(config.rootfs.diff_ids).toEqual(layers.map(({ digest }) => diffIds.get(digest)))
      expect(config.created).toBe(new Date(createdAt * 1000).toISOString())
    }
  })

  test('all of them share one base', () => {
    expect(new Set([...layouts.values()].map(({ layers }) => layers[0]!.digest)).size).toBe(1)
  })

  test('made again, elsewhere and at another time, an archive and its bill are the same bytes', async () => {
    const { stdout: commit } = await run('git', ['rev-parse', 'HEAD'])
    const elsewhere = await mkdtemp(join(folder, 'elsewhere-'))
    const before = process.env['TMPDIR']
    process.env['TMPDIR'] = elsewhere
    const again = await makeImage('keys', await makeBase(createdAt), {
      version: versionOfImage('.', 'keys'),
      commit: commit.trim(),
      createdAt,
    })
    process.env['TMPDIR'] = before
    expect(sha256(again.bytes)).toBe(sha256(await readFile(archiveOf('keys'))))
    expect(again.bill.toString()).toBe(await readFile(archiveOf('keys').replace('oci.tar', 'cdx.json'), 'utf8'))
  })

  test('a bill names the libraries of the system, with their versions', async () => {
    const bill = JSON.parse(await readFile(archiveOf('edge').replace('oci.tar', 'cdx.json'), 'utf8')) as {
      components: { purl?: string }[]
    }
    const found = bill.components.map(({ purl }) => purl)
    for (const name of ['deb/debian/libc6@2', 'deb/debian/libstdc++6@', 'npm/node@24', 'npm/ioredis@']) {
      expect(found).toContainEqual(expect.stringContaining(`pkg:${name}`))
    }
  })

  test.each([
    ['edge', 'NATS_URL'],
    ['router', 'NATS_URL'],
    ['keys', 'KEYS_MASTER_SECRET'],
    ['metering', 'NATS_URL'],
  ])('%s starts from its layers alone, unprivileged, and names the setting that it lacks', async (target, setting) => {
    const { layers, config } = layouts.get(target)!
    await rm(join(root, 'app'), { recursive: true, force: true })
    await unpackLayer(layers[1]!, root)
    const { code, output } = await runImage(root, config)
    expect(output).toContain(setting)
    expect(code).toBe(1)
  })

  test('an image’s Node resolves names and reads the time in any zone', async () => {
    const { config } = layouts.get('ctl')!
    const words = `require('dns').lookup('localhost', (error, address) => console.log(error ?? address,
      process.getuid(), new Date(0).toLocaleString('en', { timeZone: 'Asia/Tokyo' })))`
    const { code, output } = await runImage(root, config, ['node', '-e', words])
    expect({ code, output: output.trim() }).toEqual({
      code: 0,
      output: expect.stringMatching(/^(?:127\.|::1).* 1000 .*9:00:00/),
    })
  })
})
