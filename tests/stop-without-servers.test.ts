/**
 * A service stops on SIGTERM, also when servers that it needs are gone or silent. It has ten minutes for open responses
 * here, so one that waits for a lost server runs out of its test's time.
 */

import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { startCluster, type Cluster } from '@gateway/cluster/start'
import { startNats, startPostgres, startRedis, type Server } from '@gateway/servers/start'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { newDeveloper, sendRaw } from './promises/gateway.ts'

type ServerName = 'nats' | 'redis' | 'postgres'
type Loss = 'gone with its name' | 'silent'

const ALL: ServerName[] = ['nats', 'redis', 'postgres']
const SERVICES = ['edge-1', 'router-1', 'keys-1', 'metering-1']
/** Above any wait for one server, and far below the time to drain. */
const WITHIN_MS = 45_000
/**
 * The edge rides out an outage of the bus for half a minute, and tries as long to store the usage of the content shown.
 */
const WITH_A_RESPONSE_WITHIN_MS = 120_000
/** Until a server that is gone is missed, and somebody waits for a silent one. */
const MISSED_AFTER_MS = 1_500

const cases: { servers: ServerName[]; loss: Loss }[] = [
  { servers: ['postgres'], loss: 'silent' },
  { servers: ALL, loss: 'silent' },
  { servers: ALL, loss: 'gone with its name' },
]

/** One for each case and one for the open response. They open in turn, since the environment names their servers. */
const stages: Stage[] = []
beforeAll(async () => {
  for (let opened = 0; opened <= cases.length; opened++) stages.push(await openStage())
})
afterAll(() => Promise.all(stages.map((stage) => stage[Symbol.asyncDispose]())))

// Services that stop without servers only wait, so all wait at once.
test.concurrent.each(cases.map((one, at) => ({ ...one, at })))(
  'every service stops: $servers, $loss',
  { timeout: WITHIN_MS },
  async ({ servers, loss, at }) => {
    const stage = stages[at]!
    await stage.lose(servers, loss)
    await stage.stopServices()
  },
)

test.concurrent(
  'an edge stops with an open response that cannot end',
  { timeout: WITH_A_RESPONSE_WITHIN_MS },
  async () => {
    const stage = stages[cases.length]!
    const reply = await openResponse(stage.cluster)
    await stage.lose(['nats'], 'gone with its name')
    await stage.stopServices()
    expect(await reply.text()).toContain('The answer was interrupted')
  },
)

/** One that has begun, and would last for minutes. */
async function openResponse({ edges: [url], issuer }: Cluster): Promise<Response> {
  const { key } = await newDeveloper({ urls: [url!], issuer })
  const messages = [{ role: 'user', content: '100000 words' }]
  return sendRaw(url!, '/v1/chat/completions', { key, body: { model: 'svc-core', messages, stream: true } })
}

interface Stage extends AsyncDisposable {
  cluster: Cluster
  lose(servers: ServerName[], loss: Loss): Promise<void>
  stopServices(): Promise<void>
}

/** The cluster starts its own servers again when they die, so these are the environment's. */
async function openStage(): Promise<Stage> {
  await using opening = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'gateway-stop-'))
  opening.defer(() => rm(folder, { recursive: true, force: true }))
  const own = { own: true }
  const servers = {
    nats: opening.use(await startNats(own)),
    redis: opening.use(await startRedis(own)),
    postgres: opening.use(await startPostgres(own)),
  }
  vi.stubEnv('NATS_URL', servers.nats.url.replace('127.0.0.1', 'localhost'))
  vi.stubEnv('REDIS_URL', servers.redis.url.replace('127.0.0.1', 'localhost'))
  vi.stubEnv('DATABASE_URL', servers.postgres.url.replace('127.0.0.1', 'localhost'))
  const namesUnknown = join(folder, 'names-unknown')
  const preload = pathToFileURL(join(import.meta.dirname, 'stop-without-servers/forget-names.mjs')).href
  const environment = { NAMES_UNKNOWN: namesUnknown, NODE_OPTIONS: `--import=${preload}` }
  const cluster = opening.use(await startCluster({ edges: 1, routers: 1, dataDir: folder, environment }))
  vi.unstubAllEnvs()
  const opened = opening.move()
  return {
    cluster,
    async lose(names, loss) {
      if (loss === 'gone with its name') await writeFile(namesUnknown, '')
      for (const name of names) await end(servers[name], name, loss)
      await sleep(MISSED_AFTER_MS)
    },
    stopServices: async () => void (await Promise.all(SERVICES.map((name) => cluster.process(name).stop()))),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

async function end(server: Server, name: ServerName, loss: Loss): Promise<void> {
  // A PostgreSQL that is killed leaves shared memory behind.
  if (loss !== 'silent') return server.kill(name === 'postgres' ? 'SIGQUIT' : 'SIGKILL')
  await server.kill('SIGSTOP')
  // PostgreSQL has a process for each connection.
  const children = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8')
  for (const child of children.match(/\d+/g) ?? []) process.kill(Number(child), 'SIGSTOP')
}
