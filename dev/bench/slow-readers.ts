/**
 * A thousand clients that hardly read, on endless streamed responses. It measures the memory that edges and routers
 * keep for them, and the delay of clients that do read.
 *
 *     node_modules/node/bin/node dev/bench/slow-readers.ts [readers]
 *
 * A cluster of its own (two edges, two routers, real servers) on this machine, which also runs the backend and all the
 * clients. It ends within two minutes.
 */

import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startCluster, type Cluster } from '@gateway/cluster/start'
import { SHORT_MODEL, startEndlessBackend } from '@gateway/stand-ins/endless-backend'
import { signIn } from '@gateway/stand-ins/sign-in'
import { openSlowReader, type SlowReader } from '@gateway/testing/slow-reader'

const READERS = Number(process.argv[2] ?? 1_000)
const OPENED_AT_ONCE = 100
/** A machine that is too slow for all of them goes on with those that it has. */
const OPEN_FOR_MS = 45_000
const HOLD_MS = 15_000
const LEAVE_WITHIN_MS = 15_000
/** Each slow reader takes so many bytes once a second. */
const SIP_BYTES = 16 * 1024
const FAST_REQUESTS = 200
const FAST_AT_ONCE = 4
const ENDLESS_MODEL = 'endless'

await measure()

async function measure(): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), 'gateway-slow-readers-'))
  stack.defer(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }))
  const backend = stack.use(await startEndlessBackend())
  const config = join(directory, 'gateway.yaml')
  await writeFile(config, JSON.stringify(configOver(backend.url)))
  const environment = { GATEWAY_CONFIG: config, LOG_LEVEL: 'warn', DRAIN_MS: '1000' }
  const cluster = stack.use(
    await startCluster({ edges: 2, routers: 2, dataDir: join(directory, 'data'), ownServers: true, environment }),
  )
  const key = await mintKey(cluster)

  await timeFastReaders(cluster, key)
  const alone = await timeFastReaders(cluster, key)
  const before = memoryOf(cluster)
  console.log('| | before | opened | held | after |\n| --- | --- | --- | --- | --- |')
  const readers = await openReaders(cluster, key)
  const opened = memoryOf(cluster)
  const sipping = setInterval(() => readers.forEach((reader) => reader.sip(SIP_BYTES)), 1_000)
  const during = timeFastReaders(cluster, key)
  await sleep(HOLD_MS)
  const held = memoryOf(cluster)
  const open = readers.filter(({ isServed }) => isServed).length
  const { running } = backend
  clearInterval(sipping)
  for (const reader of readers) reader.leave()
  const leftAtMs = performance.now()
  while (backend.running > 0 && performance.now() - leftAtMs < LEAVE_WITHIN_MS) await sleep(50)
  const stoppedMs = performance.now() - leftAtMs
  const after = memoryOf(cluster)
  for (const name of Object.keys(before)) {
    console.log(`| ${[name, ...[before, opened, held, after].map((at) => `${at[name]} MB`)].join(' | ')} |`)
  }
  console.log(`\n${open} of ${readers.length} slow readers were still being served at the end of ${HOLD_MS / 1_000} s`)
  console.log(
    `(${running} answers running at the backend; all left at once: ${(stoppedMs / 1_000).toFixed(1)} s later ${backend.running}).`,
  )
  console.log(`The backend had given ${Math.round(backend.sentBytes / 1e6)} MB by then.`)
  console.log(`Fast readers, whole answer: alone ${alone}; beside the slow ones ${await during}.`)
}

function configOver(url: string): object {
  const models = [ENDLESS_MODEL, SHORT_MODEL]
  return {
    backends: models.map((id) => ({ id, url, maxConcurrent: 2 * READERS, timeouts: { idleMs: 120_000 } })),
    pools: models.map((id) => ({ id, targets: [{ backend: id, model: id }] })),
    models: models.map((id) => ({ id, type: 'chat', pool: id, multiplier: 1, maxOutputTokens: 100 })),
    plans: [
      { slug: 'guest-device', limit: 5_000, rpm: 60, tpm: 100_000, perDay: 100, guest: true },
      { slug: 'team', limit: 1e12, rpm: 1_000_000, tpm: 1e9, default: true },
    ],
  }
}

async function mintKey(cluster: Cluster): Promise<string> {
  const token = await signIn(cluster.issuer, { name: 'bench', redirectUri: `${cluster.edges[0]}/console` })
  const headers = { authorization: `Bearer ${token}` }
  const response = await fetch(`${cluster.edges[0]}/v1/keys/developer`, { method: 'POST', headers })
  return ((await response.json()) as { key: string }).key
}

async function openReaders(cluster: Cluster, key: string): Promise<SlowReader[]> {
  const readers: SlowReader[] = []
  const untilMs = performance.now() + OPEN_FOR_MS
  for (let from = 0; from < READERS && performance.now() < untilMs; from += OPENED_AT_ONCE) {
    const count = Math.min(OPENED_AT_ONCE, READERS - from)
    const some = Array.from({ length: count }, (_, index) =>
      openSlowReader({ url: cluster.edges[index % 2]!, key, model: ENDLESS_MODEL }),
    )
    readers.push(...(await Promise.all(some)))
  }
  return readers
}

async function timeFastReaders(cluster: Cluster, key: string): Promise<string> {
  const tookMs: number[] = []
  const body = JSON.stringify({ model: SHORT_MODEL, stream: true, messages: [{ role: 'user', content: 'hello' }] })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  let left = FAST_REQUESTS
  const lane = async (edge: string) => {
    while (left-- > 0) {
      const startedAtMs = performance.now()
      const response = await fetch(`${edge}/v1/chat/completions`, { method: 'POST', headers, body })
      const text = await response.text()
      if (!text.endsWith('data: [DONE]\n\n')) throw new Error(`a fast reader was answered ${response.status}: ${text}`)
      tookMs.push(performance.now() - startedAtMs)
    }
  }
  await Promise.all(Array.from({ length: FAST_AT_ONCE }, (_, index) => lane(cluster.edges[index % 2]!)))
  tookMs.sort((a, b) => a - b)
  const at = (share: number) => `${tookMs[Math.floor(tookMs.length * share)]!.toFixed(0)} ms`
  return `p50 ${at(0.5)}, p99 ${at(0.99)}`
}

/** Resident megabytes by process. */
function memoryOf(cluster: Cluster): Record<string, number> {
  const pids = cluster.processes
    .filter(({ plan }) => plan.service === 'edge' || plan.service === 'router')
    .map(({ plan, pid }) => [plan.name, pid] as const)
  return Object.fromEntries(
    [...pids, ['nats-server', cluster.servers.nats.pid] as const].map(([name, pid]) => {
      const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
      return [name, Math.round(Number(kilobytes) / 1_024)]
    }),
  )
}
