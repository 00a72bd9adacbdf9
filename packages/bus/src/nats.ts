/**
 * The bus between processes, on NATS core and JetStream. Runs on nats-server 2.9 and later.
 *
 * Connects for as long as it takes, also the first time; `onStatus` reports each step. Credentials stand in the URL
 * (`nats://user:password@host:4222`); several servers are separated by commas.
 */

import { createBus, type CountedBus } from './bus.ts'
import type { BusMeasures } from './counters.ts'
import { connectNats, natsWire } from './nats/wire.ts'
import type { NatsStream } from './nats/jetstream-api.ts'
import { openKept } from './nats/kept.ts'
import { openJetStream } from './nats/jetstream.ts'
import { createProcessId } from './inbox.ts'
import type { OnStatus } from './port.ts'
import type { Tuning } from './tuning.ts'

export interface NatsBusOptions {
  url: string
  /** The connection's name in the server's monitoring, and the beginning of its inbox: `inbox.<name>.…`. */
  name: string
  /** Created when missing. */
  streams?: readonly NatsStream[]
  /** The stream of kept values, created with the first one. */
  keptStream?: NatsStream | undefined
  onStatus?: OnStatus
  measures?: BusMeasures
  tuning?: Partial<Tuning>
}

export async function openNatsBus(options: NatsBusOptions): Promise<CountedBus> {
  const processId = createProcessId(options.name)
  const onStatus = options.onStatus ?? (() => {})
  const connection = await connectNats(options.url, options.name, onStatus)
  const wire = natsWire(connection, onStatus)
  return createBus({
    processId,
    wire,
    onStatus,
    measures: options.measures,
    openDurable: (shared) => openJetStream({ ...shared, wire, onStatus, processId, streams: options.streams ?? [] }),
    openKept: (requests) => openKept(requests, options.keptStream),
    tuning: options.tuning,
  })
}
