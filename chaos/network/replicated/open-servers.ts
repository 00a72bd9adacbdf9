/**
 * The servers of a run with `--replicated`, each on a host of its own.
 */

import type { ServerName } from '../../plan/places.ts'
import type { Hosts } from '../hosts.ts'
import { openNats } from './nats.ts'
import { openPostgres } from './postgres.ts'
import { openRedis } from './redis.ts'
import type { Replicated } from './replicated.ts'

export type ReplicatedServers = Record<ServerName, Replicated> & AsyncDisposable

export async function openServers(hosts: Hosts, folder: string): Promise<ReplicatedServers> {
  await using opening = new AsyncDisposableStack()
  const [nats, redis, postgres] = await Promise.all([
    openNats(hosts, folder),
    openRedis(hosts, folder),
    openPostgres(hosts),
  ])
  for (const one of [postgres, redis, nats]) opening.use(one)
  const opened = opening.move()
  return { nats, redis, postgres, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}
