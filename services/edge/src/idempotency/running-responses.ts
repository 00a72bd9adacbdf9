/**
 * The responses that this edge runs under an `Idempotency-Key`. It renews their claims while they run, so that only those of
 * a dead edge lapse. It also passes them to other edges, for clients of their own.
 */

import { atMost } from '@gateway/service/start-service'
import { decodeJson, encodeJson } from '@gateway/rpc/json'
import type { Bus, IncomingJob } from '@gateway/bus/port'
import {
  followRequest,
  type FollowedEnd,
  type FollowedFailure,
  type FollowedHead,
} from '@gateway/contracts/idempotency'
import { groups, subjects } from '@gateway/contracts/subjects'
import type { Claim, IdempotencyStore } from '@gateway/idempotency/port'
import type { Logger } from '@gateway/telemetry/logger'
import { NO_SOURCE, type Reader } from '../relay/client-writer.ts'
import { takenOver } from '../relay/taken-over.ts'
import type { SharedResponse } from './shared-response.ts'

/** Longer than it takes a router to notice that its edge is gone, so that nothing of a dead request runs on. */
export const CLAIM_LEASE_MS = 5_000
const RENEW_EVERY_MS = 1_000

/** A stopping edge waits so long for the rest of the work on a response that its client already has. */
const CLOSING_MS = 5_000

interface Running {
  claim: Claim
  response: SharedResponse
}

export interface RunningResponses extends AsyncDisposable {
  begin(claim: Claim, response: SharedResponse): void
  end(requestId: string): void
  find(requestId: string): SharedResponse | undefined
}

export async function trackRunningResponses(
  bus: Bus,
  store: IdempotencyStore,
  logger: Logger,
): Promise<RunningResponses> {
  const running = new Map<string, Running>()
  let onIdle = (): void => {}

  const followers = await bus.serveJobs(subjects.answers(bus.processId), groups.edge, (job) => {
    const request = followRequest.parse(decodeJson(job.header))
    const found = running.get(request.requestId)
    serveFollower(job, found?.claim.account === request.account ? found.response : undefined)
  })

  /** Undefined while nothing runs. */
  let renewal: NodeJS.Timeout | undefined
  function renew(): void {
    if (running.size === 0) {
      clearInterval(renewal)
      renewal = undefined
      return
    }
    const claims = Array.from(running.values(), ({ claim }) => claim)
    store.renew(claims, CLAIM_LEASE_MS).then(stopLost, (error: unknown) => {
      logger.warn(
        { err: error, claims: claims.length },
        'claims on idempotency keys were not renewed; the next time may be soon enough',
      )
    })
  }

  /** This process stood still for so long that another edge runs the request now. */
  function stopLost(requestIds: string[]): void {
    for (const requestId of requestIds) {
      logger.warn({ requestId }, 'another edge has taken over the idempotency key of a request')
      running.get(requestId)?.response.stop(takenOver())
    }
  }

  return {
    begin(claim, response) {
      running.set(claim.requestId, { claim, response })
      renewal ??= setInterval(renew, RENEW_EVERY_MS).unref()
    },
    end(requestId) {
      running.delete(requestId)
      if (running.size === 0) onIdle()
    },
    find: (requestId) => running.get(requestId)?.response,
    async [Symbol.asyncDispose]() {
      if (running.size > 0) await atMost(CLOSING_MS, new Promise<void>((idle) => (onIdle = idle)))
      clearInterval(renewal)
      await followers[Symbol.asyncDispose]()
    },
  }
}

/**
 * Serves a response that runs here to another edge, as a job's frames. So the bus handles numbering, pace and the loss of
 * either side.
 */
function serveFollower(job: IncomingJob, response: SharedResponse | undefined): void {
  if (response?.join(frameReader(job))) job.accept()
  else job.reject('no such answer')
}

function frameReader(job: IncomingJob): Reader {
  let source = NO_SOURCE
  job.onAbort(() => source.left())
  return {
    begin: (contentType, headers) => job.head(encodeJson({ contentType, headers: headers() } satisfies FollowedHead)),
    write(bytes) {
      const consumed = () => source.consumed(bytes.byteLength)
      const wait = job.data(bytes)
      // It rejects where the follower has left; the signal says so.
      if (wait) wait.then(consumed, () => {})
      else consumed()
    },
    finish: (headers) => job.end(encodeJson({ headers: headers() } satisfies FollowedEnd)),
    fail: ({ code, message, details }) => job.failure(encodeJson({ code, message, details } satisfies FollowedFailure)),
    listen(next) {
      source = next
    },
  }
}
