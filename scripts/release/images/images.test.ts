/**
 * Images that are written without an engine: the base holds what Node asks for, a given base is used as it is, and what is
 * damaged is refused. `tests/release.test.ts` runs them.
 */

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { targets } from '../../deploy/dockerfile.ts'
import { readBase } from './given-base.ts'
import { configOf } from './images.ts'
import { type Layer, makeLayer } from './layer.ts'
import { ociArchive } from './oci-archive.ts'
import { readLinks } from './read-elf.ts'
import { readTar } from './read-tar.ts'

const RELEASE = { version: '1.2.3', commit: 'c0ffee', createdAt: 1_790_000_000 }
const architecture = process.arch === 'x64' ? 'amd64' : process.arch

test.runIf(process.platform === 'linux')('the libraries of a program are those that its loader names', () => {
  const { interpreter, libraries } = readLinks(readFileSync(process.execPath))
  const listed = execFileSync(interpreter!, ['--list', process.execPath], { encoding: 'utf8' })
  expect(libraries).toContain('libc.so.6')
  for (const library of libraries) expect(listed).toContain(library)
})

test('a file that is no program is refused', () => {
  expect(() => readLinks(Buffer.from('#!/bin/sh'))).toThrow('no ELF file')
})

describe('a configuration', () => {
  test.each(targets)('%s: what the Dockerfile says, with this release’s version and commit', (target) => {
    const config = configOf(target, { Env: ['PATH=/bin', 'PORT=1'], Labels: { base: 'yes' } }, RELEASE)
    expect(config).toMatchObject({ User: '1000:1000', WorkingDir: '/app', StopSignal: 'SIGTERM' })
    expect(config.Env).toEqual(expect.arrayContaining(['PATH=/bin', 'PORT=8080', 'NODE_ENV=production']))
    expect(config.Env).not.toContain('PORT=1')
    expect(config.Labels).toMatchObject({
      base: 'yes',
      'org.opencontainers.image.title': `model-gateway-${target}`,
      'org.opencontainers.image.version': '1.2.3',
      'org.opencontainers.image.revision': 'c0ffee',
    })
    const program = [...config.Entrypoint!, ...(config.Cmd ?? [])]
    expect(program).toEqual(['node', expect.stringMatching(/^(?:services|packages)\/.*main\.ts$/)])
  })

  test('the edge is asked for its health as the Dockerfile asks', () => {
    expect(configOf('edge', {}, RELEASE).Healthcheck).toEqual({
      Test: ['CMD', 'node', 'healthcheck.mjs'],
      Interval: 5e9,
      Timeout: 3e9,
      StartPeriod: 120e9,
      Retries: 3,
    })
    expect(configOf('ctl', {}, RELEASE).Healthcheck).toEqual({ Test: ['NONE'] })
  })
})

describe('a given base', () => {
  const file = (path: string) => ({ path, content: Buffer.from(path) })
  const archiveOf = (layers: Layer[], config: object) => {
    return ociArchive({ name: 'base:1', architecture, layers, config, createdAt: 0 }).bytes
  }

  test('keeps its layers and its variables; a Node beside the path comes onto it', async () => {
    const layer = await makeLayer([file('nodejs/bin/node')], 0)
    const base = await readBase(archiveOf([layer], { Env: ['PATH=/bin', 'LANG=C'] }), 0)
    expect(base.layers.map(({ digest, diffId }) => [digest, diffId])).toEqual([[layer.digest, layer.diffId]])
    expect(base.config.Env).toEqual(['LANG=C', 'PATH=/bin:/nodejs/bin'])
  })

  test('loses its package managers, and nothing else', async () => {
    const paths = [
      'usr/local/bin/node',
      'usr/local/bin/npm',
      'usr/local/lib/node_modules/npm/package.json',
      'opt/yarn-1',
    ]
    const layer = await makeLayer(paths.map(file), 0)
    const base = await readBase(archiveOf([layer], { Env: ['PATH=/usr/local/bin'] }), 0)
    const [kept, added] = base.layers
    expect(kept!.digest).toBe(layer.digest)
    const removed = [...readTar(gunzipSync(added!.bytes))].filter(({ type }) => type === '0').map(({ path }) => path)
    expect(removed).toEqual(['opt/.wh.yarn-1', 'usr/local/bin/.wh.npm', 'usr/local/lib/.wh.node_modules'])
    expect(base.config.Env).toEqual(['PATH=/usr/local/bin'])
  })

  test('is refused without Node, damaged, for another machine, or when it is no image', async () => {
    const layer = await makeLayer([file('bin/sh')], 0)
    const archive = archiveOf([layer], {})
    await expect(readBase(archive, 0)).rejects.toThrow('has no Node')
    const damaged = Buffer.from(archive)
    damaged[archive.indexOf(layer.bytes) + 20]! ^= 1
    await expect(readBase(damaged, 0)).rejects.toThrow(`lacks ${layer.digest}`)
    await expect(readBase(Buffer.alloc(1024), 0)).rejects.toThrow('no index.json')
  })
})
