/**
 * Keys of a project that are deleted under load, over a cluster of four edges. It measures the requests that any edge admits after
 * the 200, and the time of the deletion.
 *
 *     node_modules/node/bin/node dev/bench/revoke.ts [requests a second] [rounds]
 *
 * The load generator sends requests with one key to all edges at that rate, before and after the deletion. At the 200 two more loads
 * begin with the same key: a burst at once, and a second load at the same rate. Both are for a model that has a backend of its own,
 * so the backend's own count is the number of admitted requests.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Cluster, startCluster } from '@gateway/cluster/start'
import { signIn } from '@gateway/stand-ins/sign-in'
import OpenAI from 'openai'
import { type Backend, startBackend } from './harness/backend.ts'
import { type LoadResult, runLoad } from './harness/load.ts'
import { loadNow } from './harness/machine.ts'
import { compileNative } from './harness/native.ts'

const RATE = Number(process.argv[2] ?? 1_000)
const ROUNDS = Number(process.argv[3] ?? 5)
const EDGES = 4
const CONNECTIONS = 128
const WARM_UP_SECONDS = 4
const BEFORE_MS = 3_000
const AFTER_SECONDS = 3
const BURST_TO_AN_EDGE = 25
const ORDER = { stream: false, bytes: 200 }
const MODELS = { before: 'svc-instant', after: 'svc-fast' }

await measure()

async function measure(): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const programs = await compileNative()
  const backends = {
    before: stack.use(await startBackend(programs.backend)),
    after: stack.use(await startBackend(programs.backend)),
  }
  const cluster = await openCluster(stack, backends)
  const { organization } = (await owner(cluster)).admin
  const { id: project } = await organization.projects.create({ name: 'Bench' })
  const account = await organization.projects.serviceAccounts.create(project, {
    name: 'bench',
    create_service_account_only: true,
  })
  const ports = cluster.edges.map((url) => Number(new URL(url).port))
  const load = (key: string, model: string, seconds: number): Promise<LoadResult> =>
    runLoad(programs.load, { ports, path: '/v1/chat/completions', model, headers: {}, tokens: [key] }, ORDER, {
      connections: CONNECTIONS,
      seconds,
      rate: RATE,
      drainSeconds: 5,
    })
  const newKey = () => organization.projects.serviceAccounts.apiKeys.create(account.id, { project_id: project })

  await load((await newKey()).value, MODELS.before, WARM_UP_SECONDS)
  console.log(
    '| requests a second | of them served | deletion | sent after the 200 | admitted of these | load average |',
  )
  console.log('| --- | --- | --- | --- | --- | --- |')
  for (let round = 0; round < ROUNDS; round++) {
    const key = await newKey()
    const [served, admitted] = [await plainOf(backends.before), await plainOf(backends.after)]
    const busy = load(key.value, MODELS.before, BEFORE_MS / 1_000 + AFTER_SECONDS)
    const beganAtMs = performance.now()
    await sleep(BEFORE_MS)
    const servedBefore = (await plainOf(backends.before)) - served
    const rate = (servedBefore * 1_000) / (performance.now() - beganAtMs)
    const deletedAtMs = performance.now()
    await organization.projects.apiKeys.delete(key.id, { project_id: project })
    const tookMs = performance.now() - deletedAtMs
    const burst = sendBurst(cluster, key.value)
    const after = load(key.value, MODELS.after, AFTER_SECONDS)
    const [statuses, { requests }] = [await burst, await after]
    await busy
    const sent = statuses.length + requests
    const reached = (await plainOf(backends.after)) - admitted
    const row = [RATE, Math.round(rate), `${Math.round(tookMs)} ms`, sent, reached, loadNow()]
    console.log(`| ${row.join(' | ')} |`)
    if (reached > 0) process.exitCode = 1
  }
}

/** Those that it has begun, too. */
async function plainOf(backend: Backend): Promise<number> {
  const { plain, running } = await backend.counts()
  return plain + running
}

async function openCluster(
  stack: AsyncDisposableStack,
  backends: Record<keyof typeof MODELS, Backend>,
): Promise<Cluster> {
  const directory = await mkdtemp(join(tmpdir(), 'gateway-revoke-'))
  stack.defer(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }))
  const config = join(directory, 'gateway.yaml')
  await writeFile(config, JSON.stringify(configOver(backends)))
  const environment = { GATEWAY_CONFIG: config, LOG_LEVEL: 'warn', DRAIN_MS: '1000' }
  return stack.use(
    await startCluster({ edges: EDGES, routers: 1, dataDir: join(directory, 'data'), ownServers: true, environment }),
  )
}

function configOver(backends: Record<keyof typeof MODELS, Backend>): object {
  const names = ['before', 'after'] as const
  return {
    backends: names.map((id) => ({ id, url: `http://127.0.0.1:${backends[id].port}/v1`, maxConcurrent: 10_000 })),
    pools: names.map((id) => ({ id, targets: [{ backend: id, model: 'bench' }] })),
    models: names.map((id) => ({ id: MODELS[id], type: 'chat', pool: id, multiplier: 1, maxOutputTokens: 64_000 })),
    plans: [
      { slug: 'guest-device', limit: 5_000, rpm: 60, tpm: 100_000, perDay: 100, guest: true },
      { slug: 'team', limit: 1e12, rpm: 1_000_000, tpm: 1e9, default: true },
    ],
  }
}

/** The development identity provider's user of that name has the role. */
async function owner({ edges: [edge], issuer }: Cluster): Promise<OpenAI> {
  const adminAPIKey = await signIn(issuer, { name: 'owner', redirectUri: `${edge}/console` })
  return new OpenAI({ baseURL: `${edge}/v1`, apiKey: adminAPIKey, adminAPIKey, maxRetries: 0 })
}

function sendBurst({ edges }: Cluster, key: string): Promise<number[]> {
  const body = JSON.stringify({ model: MODELS.after, messages: [{ role: 'user', content: 'bench bytes=200.' }] })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const requests = Array.from({ length: BURST_TO_AN_EDGE }, () =>
    edges.map(async (edge) => {
      const response = await fetch(`${edge}/v1/chat/completions`, { method: 'POST', headers, body })
      await response.arrayBuffer()
      return response.status
    }),
  )
  return Promise.all(requests.flat())
}
