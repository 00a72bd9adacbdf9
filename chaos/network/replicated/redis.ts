/**
 * Redis with two asynchronous replicas. The run promotes one, as Sentinel would: the gateway sees an address that leads to
 * another server. A primary that does not hear of its replicas refuses writes.
 */

import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePorts } from '@gateway/embedded-postgres/free-port'
import { findProgram } from '@gateway/servers/find-program'
import { startLocalRedis } from '@gateway/servers/redis'
import { commandRedis } from '@gateway/testing/redis-command'
import { MAX_LAG_SECONDS, type ProcessName, SERVER_HOSTS } from '../../plan/places.ts'
import type { Hosts } from '../hosts.ts'
import type { Disks } from './host-disk.ts'
import type { Clocked } from './replicated.ts'
import { openServerClock } from './server-clock.ts'

const LOOK_EVERY_MS = 100
const NAMES = SERVER_HOSTS.redis
const SETTINGS = {
  appendfsync: 'always',
  'min-replicas-to-write': '1',
  'min-replicas-max-lag': String(MAX_LAG_SECONDS),
  'repl-diskless-sync-delay': '0',
}

export interface ReplicatedRedis extends Clocked {
  /** Who does not hear of it goes on asking the former primary. */
  promote(unheardBy?: ProcessName): Promise<void>
  /** How long a former primary still took writes, from now on; `atMostMs` where it did all the time. */
  servesFor(host: string, atMostMs: number): Promise<number>
  /** How many scripts the host's server has run: only the gateway sends any. */
  scriptsRun(host: string): Promise<number>
}

export async function openRedis(hosts: Hosts, folder: string, disks: Disks): Promise<ReplicatedRedis> {
  await using opening = new AsyncDisposableStack()
  const [address = 0, ...ports] = await freePorts(1 + NAMES.length)
  const command = (index: number, ...words: [string, ...string[]]) =>
    commandRedis(`redis://127.0.0.1:${ports[index]}`, ...words)
  const file = findProgram('redis-server')!
  const more = () => SETTINGS
  const clocks = await Promise.all(
    NAMES.map(async (host, index) => {
      const port = ports[index]!
      await hosts.serve(host, port)
      const clock = await openServerClock(join(folder, `${host}.clock`), async () => {
        const [seconds, microseconds] = (await command(index, 'TIME')) as [string, string]
        return Number(seconds) * 1_000 + Number(microseconds) / 1_000
      })
      const launcher = [...hosts.on(host), ...clock.launcher]
      opening.use(await startLocalRedis(file, { directory: disks[host].folder, port }, { more, launcher }))
      return clock
    }),
  )
  let former = 0
  let primary = 0
  const follow = (index: number) => command(index, 'REPLICAOF', '127.0.0.1', String(ports[primary]))
  const copies = () => NAMES.map((_, index) => index).filter((index) => index !== primary)
  const indexOf = (host: string) => NAMES.findIndex((name) => name === host)
  const caughtUp = async (): Promise<void> => {
    for (const copy of copies()) {
      while (!String(await command(copy, 'INFO', 'replication')).includes('master_link_status:up'))
        await sleep(LOOK_EVERY_MS)
    }
  }
  const lead = (unheardBy?: ProcessName) => hosts.serve(NAMES[primary]!, address, { at: ports[primary]!, unheardBy })
  await Promise.all(copies().map(follow))
  await caughtUp()
  await lead()

  const opened = opening.move()
  return {
    url: `redis://127.0.0.1:${address}`,
    primary: async () => NAMES[primary]!,
    async promote(unheardBy) {
      former = primary
      primary = (former + 1) % NAMES.length
      await command(primary, 'REPLICAOF', 'NO', 'ONE')
      await Promise.all(
        copies()
          .filter((copy) => copy !== former)
          .map(follow),
      )
      await lead(unheardBy)
    },
    async rejoin() {
      await follow(former)
      await lead()
    },
    caughtUp,
    setClock: (wrongByMs) => clocks[primary]!.set(wrongByMs),
    async servesFor(host, atMostMs) {
      const beganAtMs = performance.now()
      const takesWrites = () =>
        command(indexOf(host), 'SET', 'chaos:written', 'by the run').then(
          () => true,
          (error: unknown) => !String(error).includes('NOREPLICAS'),
        )
      while (performance.now() - beganAtMs < atMostMs && (await takesWrites())) await sleep(LOOK_EVERY_MS)
      return performance.now() - beganAtMs
    },
    async scriptsRun(host) {
      const statistics = String(await command(indexOf(host), 'INFO', 'commandstats'))
      return Number(/cmdstat_evalsha:calls=(\d+)/.exec(statistics)?.[1] ?? 0)
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
