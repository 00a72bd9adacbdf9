/**
 * Edge and routers in this process, without a database: on the memory bus, as `npm start` has it, or on NATS. The test
 * holds the keys, and takes the usage reports off the stream itself.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomBytes } from 'node:crypto'
import { openMemoryAdmission } from '@gateway/admission/memory'
import { rpcClient } from '@gateway/rpc/client'
import { encodeJson } from '@gateway/rpc/json'
import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import { openNatsBus } from '@gateway/bus/nats'
import type { Bus } from '@gateway/bus/port'
import { openConfigSource } from '@gateway/config/config-source'
import { formatKey, parseKey, randomBase62 } from '@gateway/contracts/api-key'
import { procedures } from '@gateway/contracts/bus-roles'
import { usageConsumers, usageStream } from '@gateway/contracts/subjects'
import type { UsageBatch, UsageEvent } from '@gateway/contracts/usage-event'
import { freePort } from '@gateway/embedded-postgres/free-port'
import { openMemoryIdempotency } from '@gateway/idempotency/memory'
import { createLogger } from '@gateway/telemetry/logger'
import { createMetrics, type Metrics } from '@gateway/telemetry/metrics'
import { hashKey } from '../../services/edge/src/auth/authenticate.ts'
import { loadEdgeSettings, startEdge } from '../../services/edge/src/start.ts'
import { startRouter } from '../../services/router/src/start.ts'

export interface GatewayWithoutStores extends AsyncDisposable {
  readonly url: string
  /** Another edge. */
  readonly otherUrl: string
  readonly key: string
  /** Every report that was stored. */
  readonly reports: UsageEvent[]
  /** From now on reports are stored when the promise is settled. */
  storeAfter(gate: Promise<void>): void
  /** Cuts the first router off, for good. */
  loseRouter(): void
  /** Another account's. */
  newKey(plan?: string): Promise<string>
  /** As the keys service does it. */
  revoke(key: string): Promise<void>
  /** The first edge stops, as with SIGTERM. Resolves when it has. */
  stopEdge(): Promise<void>
  /** Of clients, in all edges. */
  bytesInFlight(): number
}

const ROUTERS = 2

/** `natsUrl`: of a server of its own; without it, the bus is in memory. */
export async function startGatewayWithoutStores(file: object, natsUrl?: string): Promise<GatewayWithoutStores> {
  await using opening = new AsyncDisposableStack()
  const logger = createLogger({ service: 'test', level: 'silent' })
  const directory = await mkdtemp(join(tmpdir(), 'ways-in-'))
  opening.defer(() => rm(directory, { recursive: true }))
  const path = join(directory, 'gateway.yaml')
  await writeFile(path, JSON.stringify(file))
  const config = opening.use(await openConfigSource({ path, logger }))
  const admission = opening.use(openMemoryAdmission())
  const hub = createMemoryHub({ streams: [usageStream] })
  const streams = [usageStream]
  const openBus = async (): Promise<Bus> =>
    opening.use(
      natsUrl === undefined ? await openMemoryBus({ hub }) : await openNatsBus({ url: natsUrl, name: 'test', streams }),
    )

  const reports: UsageEvent[] = []
  let gate = Promise.resolve()
  const stores = await openBus()
  opening.use(
    await stores.durable.consume({
      stream: usageStream.name,
      subject: procedures.usage.subject,
      consumer: usageConsumers.metering,
      maxBatch: 100,
      async handler(batch) {
        await gate
        for (const { payload } of batch)
          reports.push(...(JSON.parse(Buffer.from(payload).toString()) as UsageBatch).events)
      },
    }),
  )
  const window = { window: '2026-11', resetAtMs: Date.now() + 86_400_000 }
  opening.use(
    await stores.serve(procedures.meteringQuota.subject, 'metering', async () => encodeJson({ used: 0, ...window })),
  )
  const secrets = [{ masterKeyId: '0123456789ab', secret: randomBytes(32).toString('base64url') }]
  for (const { subject } of [procedures.keysAnswerSecrets, procedures.keysStateSecrets])
    opening.use(await stores.serve(subject, 'keys', async () => encodeJson({ secrets })))

  const routers = await Promise.all(Array.from({ length: ROUTERS }, openBus))
  for (const bus of routers) opening.use(await startRouter({ bus, config, environment: {}, logger }))
  const idempotency = opening.use(openMemoryIdempotency())
  const parts = { admission, idempotency, config, logger }
  const pages: Metrics[] = []
  const openEdge = async () => {
    const variables = { PORT: String(await freePort()), TRUST_PROXY: 'loopback', STOP_NOTICE_MS: '0' }
    const metrics = createMetrics({ service: 'edge' })
    pages.push(metrics)
    const edge = await startEdge({ ...parts, metrics, bus: await openBus(), settings: loadEdgeSettings(variables) })
    let stopped: Promise<void> | null = null
    const stop = async () => (stopped ??= Promise.resolve(edge[Symbol.asyncDispose]()))
    opening.defer(stop)
    return { url: edge.url, stop }
  }
  const [edge, otherEdge] = [await openEdge(), await openEdge()]

  const keyId = () => randomBase62(8, randomBytes)
  const newKey = async (plan = 'team') => {
    const account = randomBase62(8, randomBytes)
    const key = formatKey({ keyId: keyId(), accountTag: account, secret: randomBase62(32, randomBytes) })
    const keys = [{ keyHash: hashKey(key), version: 1, active: true }]
    await admission.fill({ account, version: 1, plan, overage: false, extra: 0, keys })
    const { window: current } = await admission.currentWindow(account)
    await admission.warm({ account, window: current, settled: 0, version: 0 })
    return key
  }
  const key = await newKey()

  const opened = opening.move()
  return {
    url: edge.url,
    otherUrl: otherEdge.url,
    key,
    reports,
    storeAfter: (next) => void (gate = next),
    loseRouter: () => hub.cut(routers[0]!.processId),
    newKey,
    async revoke(revoked) {
      const { accountTag: account, keyId: id } = parseKey(revoked)!
      const keyHash = hashKey(revoked)
      await admission.deactivate({ account, keyHash, version: 2 })
      rpcClient('keys', stores).publish('keysInvalidated', { account, keyHash, keyId: id, reason: 'revoked' })
    },
    stopEdge: edge.stop,
    bytesInFlight: () => pages.reduce((sum, { text }) => sum + bytesIn(text()), 0),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

function bytesIn(page: string): number {
  const figures = [...page.matchAll(/^gateway_bytes_in_flight\{.*\} (\d+)$/gm)]
  return figures.reduce((sum, [, bytes]) => sum + Number(bytes), 0)
}
