/**
 * The bus above a wire, which every adapter shares.
 *
 * Closing first informs peers: streams end as stopped or lost on the other side. Then it lets durable events out for
 * a bounded time, and leaves the wire.
 */

import { createLiveness, isRecovering } from './core/liveness.ts'
import { BusCounters, UNMEASURED, type BusMeasures } from './counters.ts'
import type { Durable } from './durable.ts'
import { openInbox, type Inbox } from './inbox.ts'
import type { Bus, KeptValues, OnStatus } from './port.ts'
import { openRequests, type Requests } from './requests.ts'
import { openCaller } from './streams/caller.ts'
import type { StreamContext } from './streams/context.ts'
import { openPeers } from './streams/peers.ts'
import { openWorker } from './streams/worker.ts'
import { defaultTuning, type Tuning } from './tuning.ts'
import type { Wire } from './wire.ts'

/** A bus that can be watched. */
export interface CountedBus extends Bus {
  readonly counters: Readonly<BusCounters>
}

export interface BusParts {
  processId: string
  wire: Wire
  tuning?: Partial<Tuning> | undefined
  onStatus: OnStatus
  measures?: BusMeasures | undefined
  openDurable(shared: { inbox: Inbox; requests: Requests; counters: BusCounters; measures: BusMeasures }): Durable
  openKept(requests: Requests): KeptValues
}

export async function createBus(parts: BusParts): Promise<CountedBus> {
  const { wire, processId, onStatus, measures = UNMEASURED } = parts
  const tuning = { ...defaultTuning, ...parts.tuning }
  const counters = new BusCounters()
  const now = performance.now.bind(performance)
  const liveness = createLiveness(tuning, now())
  const context: StreamContext = { processId, wire, tuning, counters, measures, liveness, onStatus, now }

  const inbox = await openInbox(wire, processId)
  const requests = openRequests(wire, inbox, () => isRecovering(liveness, now()), onStatus)
  const caller = openCaller(context, inbox)
  const peers = openPeers(context, inbox)
  const worker = openWorker(context, peers.get)
  peers.readFrames({ caller: caller.onFrame, worker: worker.onFrame })
  const durable = parts.openDurable({ inbox, requests, counters, measures })

  return {
    processId,
    counters,
    request: requests.request,
    serve: requests.serve,
    broadcast: (subject, payload) => wire.publish(subject, Buffer.from(payload)),
    listen: (subject, handler) => wire.subscribe(subject, undefined, (payload) => handler(payload)),
    dispatch: caller.dispatch,
    serveJobs: worker.serveJobs,
    durable,
    kept: parts.openKept(requests),
    async flush() {
      peers.flush()
      await wire.flush()
    },
    async [Symbol.asyncDispose]() {
      worker.close()
      caller.close()
      requests.close()
      peers.flush()
      peers.close()
      await durable[Symbol.asyncDispose]()
      await wire[Symbol.asyncDispose]()
    },
  }
}
