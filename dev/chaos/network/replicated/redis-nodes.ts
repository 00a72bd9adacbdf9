/**
 * Servers of Redis, each on a host and a disk of its own. The run sees which of them become primaries.
 */

import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePorts } from '@gateway/embedded-postgres/free-port'
import { findProgram } from '@gateway/servers/find-program'
import { startLocalRedis } from '@gateway/servers/redis'
import type { Server } from '@gateway/servers/start'
import { commandRedis } from '@gateway/testing/redis-command'
import { type ProcessName, type RedisHost, REDIS_HOSTS, type RedisForm, type ServerHost } from '../../plan/places.ts'
import type { Hosts } from '../hosts.ts'
import type { Disks } from './host-disk.ts'
import type { Clocked } from './replicated.ts'
import { openServerClock, type ServerClock } from './server-clock.ts'

const LOOK_EVERY_MS = 100
const ROLES_EVERY_MS = 400
const PROMOTED_WITHIN_MS = 40_000
const REJOINS_WITHIN_MS = 60_000

export interface ReplicatedRedis extends Clocked {
  /** In a cluster, the one that holds the account, or each in turn. */
  primary(account?: string): Promise<string>
  /** The hosts to which this primary copies its data. */
  copiesOf(primary: string): readonly string[]
  /** The hosts that decide whether this primary is lost; none where the run does. */
  decidersOf(primary: string): readonly string[]
  /** The process that does not hear of it goes on calling the former primary. */
  promote(unheardBy?: ProcessName): Promise<void>
  /** SIGKILL; `rejoin` starts it again. */
  kill(host: string): Promise<void>
  /** The time for which a former primary still took writes, from now on; `atMostMs` where it did all the time. */
  servesFor(host: string, atMostMs: number): Promise<number>
  /** The number of scripts that the host's server has run: only the gateway sends any. */
  scriptsRun(host: string): Promise<number>
  /** When replicas became primaries. */
  readonly promotionsAtMs: readonly number[]
}

export interface RedisNodes extends AsyncDisposable, Pick<ReplicatedRedis, 'kill' | 'scriptsRun' | 'promotionsAtMs'> {
  readonly hosts: readonly RedisHost[]
  readonly ports: readonly number[]
  readonly servers: readonly Server[]
  servesFor(host: string, atMostMs: number, key?: string): Promise<number>
  command(index: number, ...words: [string, ...string[]]): Promise<unknown>
  indexOf(host: string): number
  setClock(index: number, wrongByMs: number): Promise<void>
  /** A server that waits for its new disk may let the first commands wait too long. */
  follow(index: number, primaryPort: number): Promise<void>
  /** Resolves when one more replica is a primary than before. */
  promoted(before: number): Promise<void>
  /** Starts it again if it is dead; resolves when it is a replica. */
  rejoined(index: number): Promise<void>
  /** Resolves when there are so many primaries, and all others follow one. */
  caughtUp(primaries: number): Promise<void>
  /** From now on, promotions count. */
  watch(): void
}

interface NodesOptions {
  hosts: Hosts
  folder: string
  disks: Disks
  form: RedisForm
  settings(port: number): Readonly<Record<string, string>>
}

const EVERYWHERE = { appendfsync: 'always', 'repl-diskless-sync-delay': '0' }

export async function openRedisNodes({ hosts, folder, disks, form, settings }: NodesOptions): Promise<RedisNodes> {
  await using opening = new AsyncDisposableStack()
  const names = REDIS_HOSTS[form].filter(isRedisHost)
  const ports = await freePorts(names.length)
  const file = findProgram('redis-server')!
  const more = (port: number) => ({ ...EVERYWHERE, ...settings(port) })
  const command: RedisNodes['command'] = (index, ...words) => commandRedis(urlOf(ports[index]!), ...words)

  async function start(host: RedisHost, index: number): Promise<{ server: Server; clock: ServerClock }> {
    const port = ports[index]!
    await hosts.serve(host, port)
    const clock = await openServerClock(join(folder, `${host}.clock`), async () => {
      const [seconds, microseconds] = (await command(index, 'TIME')) as [string, string]
      return Number(seconds) * 1_000 + Number(microseconds) / 1_000
    })
    const launcher = [...hosts.on(host), ...clock.launcher]
    const server = await startLocalRedis(file, { directory: disks[host].folder, port }, { more, launcher })
    return { server: opening.use(server), clock }
  }

  const indexOf = (host: string) => names.findIndex((name) => name === host)
  const nodes = await Promise.all(names.map(start))
  const servers = nodes.map(({ server }) => server)
  const roles = opening.use(watchRoles(names.map((_, index) => () => command(index, 'ROLE'))))
  const opened = opening.move()
  return {
    hosts: names,
    ports,
    servers,
    promotionsAtMs: roles.promotionsAtMs,
    command,
    indexOf,
    kill: (host) => servers[indexOf(host)]!.kill(),
    servesFor: (host, atMostMs, key = 'chaos:written') =>
      timeWrites(() => command(indexOf(host), 'SET', key, 'by the run'), atMostMs),
    async scriptsRun(host) {
      const statistics = String(await command(indexOf(host), 'INFO', 'commandstats'))
      return Number(/cmdstat_evalsha:calls=(\d+)/.exec(statistics)?.[1] ?? 0)
    },
    setClock: (index, wrongByMs) => nodes[index]!.clock.set(wrongByMs),
    follow: (index, primaryPort) =>
      until(`${names[index]!} follows`, REJOINS_WITHIN_MS, () =>
        command(index, 'REPLICAOF', '127.0.0.1', String(primaryPort)).then(
          () => true,
          () => false,
        ),
      ),
    promoted: (before) =>
      until('a replica of Redis becomes a primary', PROMOTED_WITHIN_MS, async () => {
        return roles.promotionsAtMs.length > before
      }),
    async rejoined(index) {
      if (servers[index]!.pid === undefined) await servers[index]!.restart()
      await until(`${names[index]!} becomes a replica again`, REJOINS_WITHIN_MS, async () => {
        const [role] = await roleOf(() => command(index, 'ROLE'))
        return role === 'slave'
      })
    },
    async caughtUp(primaries) {
      await until('every replica of Redis has its data', REJOINS_WITHIN_MS, async () => {
        const all = await Promise.all(names.map((_, index) => roleOf(() => command(index, 'ROLE'))))
        const following = all.filter(([role, , , link]) => role === 'slave' && link === 'connected')
        const leading = all.filter(([role]) => role === 'master')
        return leading.length === primaries && following.length === names.length - primaries
      })
    },
    watch: roles.watch,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

async function timeWrites(write: () => Promise<unknown>, atMostMs: number): Promise<number> {
  const beganAtMs = performance.now()
  const takesWrites = () =>
    write().then(
      () => true,
      (error: unknown) => !/NOREPLICAS|CLUSTERDOWN|MOVED/.test(String(error)),
    )
  while (performance.now() - beganAtMs < atMostMs && (await takesWrites())) await sleep(LOOK_EVERY_MS)
  return performance.now() - beganAtMs
}

export async function until(what: string, withinMs: number, isSo: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + withinMs
  while (!(await isSo())) {
    if (performance.now() > deadlineMs) throw new Error(`it did not come to pass within ${withinMs} ms: ${what}`)
    await sleep(LOOK_EVERY_MS)
  }
}

/** `ROLE`'s reply; empty while there is none. */
type Role = readonly unknown[]

async function roleOf(send: () => Promise<unknown>): Promise<Role> {
  return (await send().catch(() => [])) as Role
}

/** Each node is polled in its own time, because one that is off the network keeps the command for seconds. */
function watchRoles(nodes: readonly (() => Promise<unknown>)[]) {
  const promotionsAtMs: number[] = []
  const over = new AbortController()
  let watching: Promise<unknown> = Promise.resolve()

  async function watchOne(send: () => Promise<unknown>): Promise<void> {
    let last: unknown
    while (!over.signal.aborted) {
      const [role = last] = await roleOf(send)
      if (role === 'master' && last === 'slave') promotionsAtMs.push(Date.now())
      last = role
      await sleep(ROLES_EVERY_MS)
    }
  }

  return {
    promotionsAtMs,
    watch: () => void (watching = Promise.all(nodes.map(watchOne))),
    async [Symbol.asyncDispose]() {
      over.abort()
      await watching
    },
  }
}

const isRedisHost = (host: ServerHost): host is RedisHost => host.startsWith('redis-')

export const urlOf = (port: number): string => `redis://127.0.0.1:${port}`
