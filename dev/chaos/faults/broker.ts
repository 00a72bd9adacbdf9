/**
 * Faults of the broker's durable stream: lost with every event that metering had not yet consumed, or full.
 */

import { cp, mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { usageConsumers, usageStream } from '@gateway/contracts/subjects'
import type { UsageBatch } from '@gateway/contracts/usage-event'
import { startNats } from '@gateway/servers/start'
import { connectBroker } from '@gateway/testing/call-jetstream'
import type { Stage } from '../stage/open-stage.ts'
import { killed, killedAndGone } from './processes.ts'

/** Returns the requests whose reports were in the stream and not known to be consumed: they alone may be lost. */
export async function wiped(stage: Stage, number: number): Promise<string[]> {
  const store = join(stage.folder, 'cluster', 'nats', 'jetstream')
  const kept = join(stage.folder, `wiped-${number}`)
  await mkdir(kept)
  await killedAndGone(stage, 'nats')
  await cp(store, join(kept, 'jetstream'), { recursive: true })
  for (const name of await readdir(store)) await rm(join(store, name), { recursive: true })
  return readUnconsumed(kept)
}

/** Reads the data of the broker at its death, with another one that is given a copy. */
async function readUnconsumed(directory: string): Promise<string[]> {
  await using nats = await startNats({ own: true, directory })
  await using broker = await connectBroker(nats.url)
  const { name } = usageStream
  const { state } = await broker.call<{ state: { last_seq: number } }>(`STREAM.INFO.${name}`)
  const consumer = `CONSUMER.INFO.${name}.${usageConsumers.metering}`
  const { ack_floor: floor } = await broker.call<{ ack_floor: { stream_seq: number } }>(consumer)
  const requests: string[] = []
  for (let seq = floor.stream_seq + 1; seq <= state.last_seq; seq++) {
    const { message } = await broker.call<{ message: { data: string } }>(`STREAM.MSG.GET.${name}`, { seq })
    const batch = JSON.parse(Buffer.from(message.data, 'base64').toString()) as UsageBatch
    requests.push(...batch.events.map(({ requestId }) => requestId))
  }
  return requests
}

/**
 * A broker that found its disk full stays without a store until it is started again, which is its operator's task. It does
 * not always heed SIGTERM then.
 */
export async function diskFull(stage: Stage, forMs: number): Promise<void> {
  const { disk } = stage
  if (!disk) return
  await disk.fill()
  await sleep(forMs)
  await disk.empty()
  await killed(stage, 'nats')
}
