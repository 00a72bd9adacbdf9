/**
 * The settings of the servers under deploy/, read by the servers themselves.
 */

import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { findProgram } from '@gateway/servers/find-program'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { render } from './chart.ts'
import { readCompose } from './compose-rules.ts'
import { type Manifest, readManifests } from './validate-manifests.ts'

const ROOT = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'gateway-deploy-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface ConfigMap extends Manifest {
  data: Record<string, string>
}
interface StatefulSet extends Manifest {
  spec: { template: { spec: { containers: { env: { name: string; value?: string }[] }[] } } }
}

let environment: Record<string, string>
let conf: string
beforeAll(() => {
  const manifests = readManifests(render('production'))
  const { data } = manifests.find(
    ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.endsWith('-nats'),
  ) as ConfigMap
  for (const [name, text] of Object.entries(data)) writeFileSync(join(folder, name), text)
  conf = data['nats.conf']!
  const { spec } = manifests.find(({ kind }) => kind === 'StatefulSet') as StatefulSet
  environment = Object.fromEntries(
    spec.template.spec.containers[0]!.env.map(({ name, value }) => [
      name,
      value?.replaceAll(/\$\(\w+\)/g, 'c0ffee') ?? 'c0ffee',
    ]),
  )
})

const natsServer = () => findProgram('nats-server')!
/** `nats-server 2.9` of Debian has no such setting; it is left out there, and nothing else. */
const knowsSyncInterval = () => {
  const [, minor] = /v2\.(\d+)/.exec(execFileSync(natsServer(), ['--version'], { encoding: 'utf8' }))!
  return Number(minor) >= 11
}
const check = (text: string, env: Record<string, string>) => {
  const file = join(folder, 'checked.conf')
  writeFileSync(file, knowsSyncInterval() ? text : text.replace(/^ *sync_interval: .*\n/m, ''))
  const { status, stderr } = spawnSync(natsServer(), ['-t', '-c', file], { env, encoding: 'utf8' })
  return { status, stderr }
}

test('a NATS server takes the configuration of the chart, with the environment that its pods get', () => {
  expect(check(conf, environment)).toMatchObject({ status: 0 })
})

test('and would refuse one with a misspelt setting, or a password that its pods are not given', () => {
  const unknown = check(conf.replace('store_dir', 'stored_dir'), environment)
  expect(unknown).toMatchObject({ status: 1, stderr: expect.stringContaining('stored_dir') })
  const { NATS_KEYS_PASSWORD: _, ...incomplete } = environment
  expect(check(conf, incomplete)).toMatchObject({ status: 1, stderr: expect.stringContaining('NATS_KEYS_PASSWORD') })
})

test('a NATS server takes the configuration of the compose file, with the environment that its containers get', () => {
  const { services } = readCompose(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'))
  const given = Object.entries(services['nats-1']!.environment!).map(([name, value]) => {
    return [name, value.replaceAll(/\$\{[^}]*\}/g, 'k0ffee')]
  })
  copyFileSync(join(ROOT, 'deploy/chart/files/nats-users.conf'), join(folder, 'nats-users.conf'))
  const conf = readFileSync(join(ROOT, 'deploy/compose/nats.conf'), 'utf8')
  expect(check(conf, Object.fromEntries(given))).toMatchObject({ status: 0 })
})

test('a NATS server that compose stops sends its clients elsewhere', async () => {
  const { services } = readCompose(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'))
  const server = spawn(natsServer(), ['--addr', '127.0.0.1', '--port', '-1'])
  try {
    let port = 0
    for await (const line of createInterface({ input: server.stderr })) {
      port = Number(/client connections on 127\.0\.0\.1:(\d+)/.exec(line)?.[1] ?? port)
      if (line.includes('Server is ready')) break
    }
    server.stderr.resume()
    const client = connect(port, '127.0.0.1')
    client.write('CONNECT {"verbose":false,"protocol":1}\r\nPING\r\n')
    let received = ''
    for await (const line of createInterface({ input: client })) {
      if (line === 'PONG') server.kill(services['nats-1']!.stop_signal as NodeJS.Signals)
      received = line
      if (line.includes('"ldm":true')) break
    }
    client.destroy()
    expect(received).toContain('"ldm":true')
  } finally {
    server.kill('SIGKILL')
    await once(server, 'exit')
  }
})

test('a Redis server starts with the configuration of the compose file', async () => {
  const conf = readFileSync(join(ROOT, 'deploy/compose/redis.conf'), 'utf8').replace('dir /data', `dir ${folder}`)
  writeFileSync(join(folder, 'redis.conf'), conf)
  const args = [join(folder, 'redis.conf'), '--port', '0', '--unixsocket', join(folder, 'redis.sock')]
  const server = spawn(findProgram('redis-server')!, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const output = text(server.stdout)
  server.stdout.on(
    'data',
    (line: Buffer) => void (line.includes('eady to accept connections') && server.kill('SIGTERM')),
  )
  expect(await once(server, 'exit')).toEqual([0, null])
  expect(await output).toContain('eady to accept connections')
})
