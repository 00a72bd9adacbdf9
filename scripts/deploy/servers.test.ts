/**
 * The settings of the servers under deploy/, read by the servers themselves.
 */

import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findProgram } from '@gateway/testing/servers/find-program'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { render } from './chart.ts'
import { type Manifest, readManifests } from './validate-manifests.ts'

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
