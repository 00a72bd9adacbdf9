/** What the bus counts about itself, for a service to export. All but `streamsOpen` and most of `durable…` only grow. */

export interface BusCounters {
  messagesSent: number
  messagesReceived: number
  messagesMalformed: number
  framesSent: number
  framesReceived: number
  /** Frames that came twice or after a gap. */
  framesDropped: number
  framesResent: number
  resumesAsked: number
  /** Streams of this process, as caller and as worker. */
  streamsOpen: number
  jobsDispatched: number
  jobsUnavailable: number
  jobsLost: number
  reconnects: number
  /** This process stood still for so long that its peers' silence was not held against them. */
  pauses: number
  durableAcknowledged: number
  /** Publishes tried again because no acknowledgement came. */
  durableRetried: number
  durablePending: number
  /** Events that waited in the stream behind the last one that this process consumed. */
  durableBacklog: number
  /** The size of the stream that this process consumes, before its latest sweep; 0 in a process that consumes none. */
  durableStoredBytes: number
  /** The size at which that stream refuses new events; 0 without a bound. */
  durableRoomBytes: number
}

/** What the bus measures for a service to collect; called often. */
export interface BusMeasures {
  /** From publishing a durable event to its acknowledgement. */
  acknowledged(waitedMs: number): void
  /** To a peer and back, through both processes' event loops. */
  roundTrip(tookMs: number): void
}

export const UNMEASURED: BusMeasures = { acknowledged() {}, roundTrip() {} }

export function createCounters(): BusCounters {
  return {
    messagesSent: 0,
    messagesReceived: 0,
    messagesMalformed: 0,
    framesSent: 0,
    framesReceived: 0,
    framesDropped: 0,
    framesResent: 0,
    resumesAsked: 0,
    streamsOpen: 0,
    jobsDispatched: 0,
    jobsUnavailable: 0,
    jobsLost: 0,
    reconnects: 0,
    pauses: 0,
    durableAcknowledged: 0,
    durableRetried: 0,
    durablePending: 0,
    durableBacklog: 0,
    durableStoredBytes: 0,
    durableRoomBytes: 0,
  }
}
