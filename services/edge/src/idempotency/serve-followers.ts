/**
 * Gives an answer that runs here to another edge: as a job's frames, so that numbering, pace and the loss of either side are
 * the bus' business.
 */

import { encodeJson } from '@gateway/bus/json'
import type { IncomingJob } from '@gateway/bus/port'
import type { FollowedEnd, FollowedFailure, FollowedHead } from '@gateway/contracts/idempotency'
import { NO_SOURCE, type Reader } from '../relay/reader.ts'
import type { SharedAnswer } from './shared-answer.ts'

export function serveFollower(job: IncomingJob, answer: SharedAnswer | undefined): void {
  if (answer?.join(frameReader(job))) job.accept()
  else job.reject('no such answer')
}

function frameReader(job: IncomingJob): Reader {
  let source = NO_SOURCE
  job.signal.addEventListener('abort', () => source.left(), { once: true })
  return {
    begin: (contentType, headers) => job.head(encodeJson({ contentType, headers: headers() } satisfies FollowedHead)),
    write(bytes) {
      job.data(bytes).then(
        () => source.consumed(bytes.byteLength),
        // It has left; the signal says so.
        () => {},
      )
    },
    finish: (headers) => job.end(encodeJson({ headers: headers() } satisfies FollowedEnd)),
    fail: ({ code, message, details }) => job.failure(encodeJson({ code, message, details } satisfies FollowedFailure)),
    listen(next) {
      source = next
    },
  }
}
