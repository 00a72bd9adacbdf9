/**
 * The side of job streams that dispatches jobs and reads their answers: it gives each answer's frames to its stream.
 *
 * The caller answers a frame of another worker than the one that took the job, and of a stream that is over, with `stop`:
 * an abandoned attempt cannot go on unnoticed.
 */

import { AcceptPatience } from '../core/accept-patience.ts'
import { frameKind } from '../core/frames.ts'
import { RecentWorkers } from '../core/recent-workers.ts'
import { InFlightMap } from '@gateway/in-flight/collections'
import type { Inbox } from '../inbox.ts'
import type { JobEvents, JobHandle, OutgoingJob } from '../port.ts'
import { CallerStream, type CallerContext } from './caller-stream.ts'
import type { StreamContext } from './context.ts'
import type { FrameHandler } from './peers.ts'

export interface Caller {
  dispatch(job: OutgoingJob, events: JobEvents): JobHandle
  readonly onFrame: FrameHandler
  close(): void
}

export function openCaller(context: StreamContext, inbox: Inbox): Caller {
  const { wire, counters, now, tuning } = context
  const streams = new InFlightMap<number, CallerStream>()
  const patience = new AcceptPatience(tuning.acceptTimeoutMs, tuning.acceptTimeoutMostMs)
  const own: CallerContext = { ...context, inbox, streams, patience, workers: new RecentWorkers() }
  let lastStream = 0

  inbox.on('j', (_payload, token, noResponder) => {
    if (noResponder) streams.get(Number(token))?.noResponder()
  })
  wire.onConnection((connected) => {
    if (connected) for (const stream of streams.values()) stream.connected()
  })

  return {
    dispatch(job, events) {
      counters.jobsDispatched++
      lastStream = (lastStream + 1) >>> 0
      return new CallerStream(lastStream, job, events, own)
    },

    onFrame(peer, kind, number, n, bytes) {
      const stream = streams.get(number)
      if (stream === undefined) {
        if (kind === frameKind.accept) patience.acceptedLate(number, now())
        if (kind !== frameKind.reject && kind !== frameKind.unknown) peer.sendStop(number)
        return
      }
      try {
        stream.onFrame(peer, kind, n, bytes, now())
      } catch (error) {
        context.onStatus({ type: 'error', error, during: 'handling an answer' })
        stream.notTaken()
      }
    },

    close() {
      for (const stream of [...streams.values()]) stream.abandon()
    },
  }
}
