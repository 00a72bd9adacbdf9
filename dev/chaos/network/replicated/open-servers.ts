/**
 * The servers of a run with `--replicated`, each on a host and a disk of its own.
 */

import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { hostsOfServers, type RedisForm } from '../../plan/places.ts'
import type { Hosts } from '../hosts.ts'
import { type Disks, openHostDisk } from './host-disk.ts'
import { openNats } from './nats.ts'
import { openPostgres } from './postgres.ts'
import { openRedisCluster } from './redis-cluster.ts'
import { openRedisCopies } from './redis-copies.ts'
import type { ReplicatedRedis } from './redis-nodes.ts'
import { openRedisSentinels } from './redis-sentinels.ts'
import type { Clocked, Replicated } from './replicated.ts'

export interface ReplicatedServers extends AsyncDisposable {
  readonly nats: Replicated
  readonly redis: ReplicatedRedis
  readonly postgres: Clocked
  readonly disks: Disks
}

const OPEN_REDIS = { copies: openRedisCopies, sentinels: openRedisSentinels, cluster: openRedisCluster }

export async function openServers(hosts: Hosts, folder: string, form: RedisForm): Promise<ReplicatedServers> {
  await using opening = new AsyncDisposableStack()
  await mkdir(folder, { recursive: true })
  const disks = Object.fromEntries(
    await Promise.all(
      Object.values(hostsOfServers(form))
        .flat()
        .map(async (host) => [host, opening.use(await openHostDisk(join(folder, host)))] as const),
    ),
  ) as Disks
  const [nats, redis, postgres] = await Promise.all([
    openNats(hosts, disks),
    OPEN_REDIS[form](hosts, folder, disks),
    openPostgres(hosts, folder, disks),
  ])
  for (const one of [postgres, redis, nats]) opening.use(one)
  const opened = opening.move()
  return { nats, redis, postgres, disks, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}
