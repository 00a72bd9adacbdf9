/** What the bus counts about itself, for a service to export. All but `streamsOpen` and `durablePending` only grow. */

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
  durableAcknowledged: number
  /** Publishes tried again because no acknowledgement came. */
  durableRetried: number
  durablePending: number
}

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
    durableAcknowledged: 0,
    durableRetried: 0,
    durablePending: 0,
  }
}
