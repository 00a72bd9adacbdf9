/** The revision of the config that each process runs, as an operator reads it during a rollout. */

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { operations } from '@gateway/contracts/administration/operations'
import { send } from '../promises/gateway.ts'
import { type AdministeredCluster, openAdministered } from './administered.ts'

const SERVICES = new Set(['edge', 'router', 'keys', 'metering'])
const SOON = { timeout: 60_000, interval: 250 }

const stack = new AsyncDisposableStack()
let administered: AdministeredCluster
beforeAll(async () => void (administered = await openAdministered(stack, { edges: 2, routers: 2 })))
afterAll(() => stack.disposeAsync())

async function show() {
  const { gateway, adminKey } = administered
  const { status, body } = await send(gateway.urls[0], '/admin/v1/config', { method: 'GET', key: adminKey })
  expect({ status, body }).toMatchObject({ status: 200 })
  return operations['config.show'].output.parse(body)
}

/** The processes that the cluster runs now, with one revision for all that read the config. */
function expected(revision: string) {
  return administered.cluster.processes
    .map(({ plan, pid }) => ({ service: plan.service, pid }))
    .filter(({ service }) => SERVICES.has(service))
    .map(({ service, pid }) => ({ service, pid, revision }))
    .toSorted((one, other) => one.pid! - other.pid!)
}

const shown = async () => {
  const { processes } = await show()
  return processes
    .map(({ service, pid, revision }) => ({ service, pid, revision }))
    .toSorted((one, other) => one.pid - other.pid)
}

test('each process of the gateway is listed with the revision that it runs, also after a change of the config', async () => {
  const { revision: first } = await show()
  await expect.poll(shown, SOON).toEqual(expected(first))
  expect(await show()).toMatchObject({ silent: 0 })

  const path = join(administered.gateway.dataDir, 'gateway.yaml')
  const config = JSON.parse(await readFile(path, 'utf8')) as { plans: object[] }
  await writeFile(
    path,
    JSON.stringify({
      ...config,
      plans: [...config.plans, { slug: 'another', unit: 'tokens', limit: 1_000_000, rpm: 60, tpm: 60_000 }],
    }),
  )
  await expect.poll(async () => (await show()).revision, SOON).not.toBe(first)
  const { revision: second } = await show()
  await expect.poll(shown, SOON).toEqual(expected(second))
})

test('the list comes as soon as all have replied', async () => {
  const tookMs: number[] = []
  for (let times = 0; times < 10; times++) {
    const startedAtMs = performance.now()
    await show()
    tookMs.push(performance.now() - startedAtMs)
  }
  console.log(`${tookMs.map(Math.round).join(', ')} ms`)
  // Far less than a process has for its reply.
  expect(Math.min(...tookMs)).toBeLessThan(500)
})

test('a process that hangs is missing from the list', async () => {
  const { pid } = administered.cluster.process('keys-1')
  const service = 'metering-1'
  const hung = administered.cluster.process(service).pid!
  process.kill(hung, 'SIGSTOP')
  try {
    await expect.poll(show, SOON).toMatchObject({ silent: 1 })
    const { processes } = await show()
    expect(processes.map((one) => one.pid)).toContain(pid)
    expect(processes.map((one) => one.pid)).not.toContain(hung)
  } finally {
    process.kill(hung, 'SIGCONT')
  }
  await expect.poll(show, SOON).toMatchObject({ silent: 0 })
})
