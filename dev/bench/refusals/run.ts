/**
 * Measures the cost of a refusal under overload to an edge: `node_modules/node/bin/node dev/bench/refusals/run.ts
 * [--rounds 8] [--seconds 1]`.
 *
 * The edge's HTTP server with a full load shedder, and a bare Node server that returns a constant, get requests in turn
 * on kept connections. The figure is the server's CPU per request.
 */

import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import {
  ACCOUNT_TAG_LENGTH,
  formatKey,
  KEY_ID_LENGTH,
  KEY_SECRET_LENGTH,
  randomBase62,
} from '@gateway/contracts/api-key'
import { confine, shareCores } from '../harness/cores.ts'
import { runLoad } from '../harness/load.ts'
import { compileNative } from '../harness/native.ts'
import { cpuMsOf } from '../harness/processes.ts'
import { spreadOf } from '../harness/statistics.ts'
import { PLAIN } from '../scale/rig.ts'

const SUBJECTS = ['edge', 'bare'] as const
const WARM_UP_SECONDS = 4
const CONNECTIONS = [64, 1_024]

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '8' }, seconds: { type: 'string', default: '1' } },
})
const random = (length: number) => randomBase62(length, randomBytes)
const keyOf = () => ({
  keyId: random(KEY_ID_LENGTH),
  accountTag: random(ACCOUNT_TAG_LENGTH),
  secret: random(KEY_SECRET_LENGTH),
})
const tokens = Array.from({ length: 100 }, () => formatKey(keyOf()))
const cores = shareCores()
const { load: program } = await compileNative()
await confine(process.pid, cores.load)
await using servers = new AsyncDisposableStack()
const started = await Promise.all(SUBJECTS.map(start))
for (const { load } of started) await load(64, WARM_UP_SECONDS)
const seen = new Map<string, number[]>()
for (let round = 0; round < Number(values.rounds); round++) {
  for (const connections of CONNECTIONS) {
    for (const { subject, pid, load } of started) {
      const before = cpuMsOf(pid)
      const { requests } = await load(connections, Number(values.seconds))
      const row = `${subject}, ${connections} connections`
      seen.set(row, [...(seen.get(row) ?? []), ((cpuMsOf(pid) - before) / requests) * 1_000])
    }
  }
}
console.log(`µs of the server's CPU per refusal, median of ${values.rounds} turns (least and most)`)
for (const [row, figures] of seen) {
  const { median, min, max } = spreadOf(figures)!
  console.log(`${row}: ${median.toFixed(1)} (${min.toFixed(1)}–${max.toFixed(1)})`)
}

async function start(subject: (typeof SUBJECTS)[number]) {
  const child = fork(join(import.meta.dirname, 'server.ts'), [subject])
  const [port] = (await once(child, 'message')) as [number]
  const exited = once(child, 'exit')
  servers.defer(async () => {
    child.disconnect()
    await exited
  })
  await confine(child.pid!, cores.gateway)
  const endpoint = { ports: [port], path: '/v1/chat/completions', model: 'svc-instant', headers: {}, tokens }
  const load = (connections: number, seconds: number) => runLoad(program, endpoint, PLAIN, { connections, seconds })
  return { subject, pid: child.pid!, load }
}
