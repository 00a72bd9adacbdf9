/**
 * Faults of Redis' data: flushed, lost, or older than it was.
 */

import { cp, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { commandRedis } from '@gateway/testing/redis-command'
import type { Stage } from '../stage/open-stage.ts'
import { killedAndGone } from './processes.ts'

const dataOf = ({ folder }: Stage) => join(folder, 'cluster', 'redis')

export async function flushed({ cluster }: Stage): Promise<void> {
  await commandRedis(cluster.servers.redis.url, 'FLUSHALL')
}

/** The cluster starts it again. */
export async function emptied(stage: Stage): Promise<void> {
  await killedAndGone(stage, 'redis')
  await rm(dataOf(stage), { recursive: true, force: true })
  await mkdir(dataOf(stage), { recursive: true })
}

export async function olderThanItWas(stage: Stage, ageMs: number): Promise<void> {
  const copy = join(stage.folder, 'redis-copy')
  await rm(copy, { recursive: true, force: true })
  await cp(dataOf(stage), copy, { recursive: true })
  await sleep(ageMs)
  await killedAndGone(stage, 'redis')
  await rm(dataOf(stage), { recursive: true, force: true })
  await cp(copy, dataOf(stage), { recursive: true })
}
