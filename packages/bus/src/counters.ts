/** The bus's own counters, for a service to export. All but `streamsOpen` and most of `durable…` only grow. */

export class BusCounters {
  messagesSent = 0
  messagesReceived = 0
  messagesMalformed = 0
  framesSent = 0
  framesReceived = 0
  /** Frames that came twice or after a gap. */
  framesDropped = 0
  framesResent = 0
  resumesRequested = 0
  /** Streams of this process, as caller and as worker. */
  streamsOpen = 0
  jobsDispatched = 0
  jobsUnavailable = 0
  jobsLost = 0
  reconnects = 0
  /** This process stood still for so long that its peers' silence was not held against them. */
  pauses = 0
  durableAcknowledged = 0
  /** Publishes tried again because no acknowledgement came. */
  durableRetried = 0
  durablePending = 0
  /** Events that waited in the stream behind the last one that this process consumed. */
  durableBacklog = 0
  /** The size of the stream that this process consumes, before its latest sweep; 0 in a process that consumes none. */
  durableStoredBytes = 0
  /** The size at which that stream refuses new events; 0 without a bound. */
  durableFreeBytes = 0
}

/** The bus calls it with its measurements, often; a service collects them. */
export interface BusMeasures {
  /** From publishing a durable event to its acknowledgement. */
  acknowledged(waitedMs: number): void
  /** To a peer and back, through both processes' event loops. */
  roundTrip(tookMs: number): void
}

export const UNMEASURED: BusMeasures = { acknowledged() {}, roundTrip() {} }
