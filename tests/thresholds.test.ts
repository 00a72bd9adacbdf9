/**
 * An operator of a cluster learns of accounts that use up their allowance, also of those that do so while keys is away.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openNatsBus } from '@gateway/bus/nats'
import { parseKey } from '@gateway/contracts/api-key'
import { accountThreshold, type AccountThreshold } from '@gateway/contracts/quota-status'
import { accountStream, subjects } from '@gateway/contracts/subjects'
import { startCluster } from '@gateway/cluster/start'

const PLANS = [
  { slug: 'guest-device', limit: 60, rpm: 1_000, tpm: 1_000_000, perDay: 1_000, guest: true },
  { slug: 'free', limit: 1_000, rpm: 60, tpm: 60_000, default: true },
]

test('accounts that pass 80 % and all of their allowance are reported once for each', async () => {
  await using running = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'gateway-thresholds-'))
  running.defer(() => rm(folder, { recursive: true, force: true }))
  const config = join(folder, 'gateway.yaml')
  await writeFile(config, JSON.stringify({ plans: PLANS }))
  const environment = { GATEWAY_CONFIG: config, LOG_LEVEL: 'warn' }
  const cluster = running.use(
    await startCluster({ edges: 1, routers: 1, dataDir: folder, ownServers: true, environment }),
  )

  const reported: AccountThreshold[] = []
  const streams = [{ ...accountStream, consumers: ['operator'] }]
  const bus = running.use(await openNatsBus({ url: cluster.servers.nats.url, name: 'operator', streams }))
  await bus.durable.consume({
    ...{ stream: accountStream.name, subject: subjects.accountThreshold, consumer: 'operator', maxBatch: 10 },
    handler: async (batch) => {
      reported.push(...batch.map(({ payload }) => accountThreshold.parse(JSON.parse(Buffer.from(payload).toString()))))
    },
  })
  const reportedOf = (key: string) =>
    reported.filter(({ account }) => account === parseKey(key)!.accountTag).map(({ percent }) => percent)

  const first = await mintGuest(cluster.edges[0]!, 'first')
  await useUp(cluster.edges[0]!, first)
  await expect.poll(() => reportedOf(first)).toEqual([80, 100])

  const second = await mintGuest(cluster.edges[0]!, 'second')
  // Known to the store before keys is away.
  expect(await sendRequest(cluster.edges[0]!, second)).toBe(200)
  cluster.process('keys-1').kill('SIGKILL')
  await useUp(cluster.edges[0]!, second)
  await expect.poll(() => reportedOf(second)).toEqual([80, 100])
  expect(reportedOf(first)).toEqual([80, 100])
  expect(reported[0]).toMatchObject({ kind: 'guest', plan: 'guest-device', unit: 'tokens', limit: 60 })
})

async function mintGuest(edge: string, deviceId: string): Promise<string> {
  const response = await fetch(`${edge}/v1/keys/guest`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ device_id: deviceId }),
  })
  return ((await response.json()) as { key: string }).key
}

async function useUp(edge: string, key: string): Promise<void> {
  const deadlineAtMs = performance.now() + 20_000
  while ((await sendRequest(edge, key)) !== 402)
    if (performance.now() > deadlineAtMs) throw new Error('it is never used up')
}

async function sendRequest(edge: string, key: string): Promise<number> {
  const response = await fetch(`${edge}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'svc-instant', messages: [{ role: 'user', content: 'Hello!' }], max_tokens: 5 }),
  })
  await response.arrayBuffer()
  return response.status
}
