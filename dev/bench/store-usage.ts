/**
 * Measures the time that JetStream takes to acknowledge usage, on a server of yours: the price of `sync_interval` and
 * replicas.
 *
 *     NATS_URL=nats://127.0.0.1:4222 node_modules/node/bin/node dev/bench/store-usage.ts [replicas]
 *
 * Writes to a stream of its own, `BENCH`, whose messages go after ten minutes.
 */

import { openNatsBus } from '@gateway/bus/nats'

const MESSAGE_BYTES = 600
const ONE_BY_ONE = 1_000
const AT_ONCE = 5_000
const TIMEOUT_MS = 60_000

const url = process.env['NATS_URL']
if (!url) throw new Error('NATS_URL is not set; set it to the server to measure')
const replicas = Number(process.argv[2] ?? 1)
const stream = { name: 'BENCH', subjects: ['bench.>'], consumers: [], maxAgeMs: 600_000, replicas }
await using bus = await openNatsBus({ url, name: 'bench', streams: [stream] })
const message = Buffer.alloc(MESSAGE_BYTES, 'u')
const store = () => bus.durable.publish('bench.usage', message, { timeoutMs: TIMEOUT_MS })

await Promise.all(Array.from({ length: AT_ONCE }, store))
const timesMs: number[] = []
for (let count = 0; count < ONE_BY_ONE; count++) {
  const beganMs = performance.now()
  await store()
  timesMs.push(performance.now() - beganMs)
}
timesMs.sort((a, b) => a - b)
const at = (share: number) => `${timesMs[Math.floor(timesMs.length * share)]!.toFixed(2)} ms`
console.log(`one after the other: p50 ${at(0.5)}, p99 ${at(0.99)}`)
const beganMs = performance.now()
await Promise.all(Array.from({ length: AT_ONCE }, store))
console.log(`as fast as it goes: ${Math.round((AT_ONCE / (performance.now() - beganMs)) * 1000)} messages a second`)
