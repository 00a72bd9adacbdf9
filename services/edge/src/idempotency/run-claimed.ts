/**
 * Runs the request that has claimed its key, for its own client and all that join it, and keeps its response.
 *
 * The response is kept before its usage is stored, and clients get its end after both. So once anyone has seen the end, the
 * response is kept and paid for once, whenever this process dies. A store that is away holds up no response. It keeps the
 * response when it is back; until then the edge serves repeated requests from memory.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { GatewayError } from '@gateway/contracts/errors'
import type { Claim } from '@gateway/idempotency/port'
import type { Logger } from '@gateway/telemetry/logger'
import { failpoint } from '@gateway/service/failpoint'
import { lastingHeaders } from '../core/response-headers.ts'
import type { BytesInFlight } from '../http/memory-budget.ts'
import type { IdempotencyPorts } from './ports.ts'
import type { Client, Reader } from '../relay/client-writer.ts'
import { billedClaimOf } from './response-keys.ts'
import { CLAIM_LEASE_MS } from './running-responses.ts'
import { sealResponse } from './stored-response.ts'
import { shareResponse, type CompleteResponse } from './shared-response.ts'

export interface RunClaimedContext {
  bytes: BytesInFlight
  idempotency: IdempotencyPorts
  logger: Logger
}

const KEEPING = { forMs: 24 * 3_600_000, accountBytes: 64 * 1024 * 1024 }
const TRY_AGAIN_AFTER_MS = 1_000
const TRY_AGAIN_AT_MOST = 60

export function runClaimed(
  edge: RunClaimedContext,
  claim: Claim,
  reader: Reader,
  run: (client: Client, claim: string) => Promise<void>,
): void {
  const responseStore = keepOf(edge, claim)
  const response = shareResponse(responseStore, edge.bytes.reserveResponse(claim.account))
  edge.idempotency.running.begin(claim, response)
  response.join(reader)
  run(response.client, billedClaimOf(claim))
    .catch((error: unknown) => response.fail(asGatewayError(error)))
    .then(() => responseStore.conclude())
    .catch((error: unknown) => {
      edge.logger.error(
        { err: error, requestId: claim.requestId },
        'a kept answer was not noted as metered; the next to ask for it reports its usage again',
      )
    })
    .finally(() => {
      edge.idempotency.running.end(claim.requestId)
      response.close()
    })
}

/** Keeps the response in the store, or frees the key. */
function keepOf(edge: RunClaimedContext, claim: Claim) {
  const { store, keys } = edge.idempotency
  let sealed: Uint8Array | null = null
  let isKept = false
  let isMetered = false

  /** False: another request has the key by now. A store that is away may say so later. */
  async function tryKeep(): Promise<boolean> {
    if (!sealed) return true
    try {
      const isOurs = await store.keep(claim, sealed, KEEPING)
      // Where the key is another's, nothing is left to do either.
      isKept = true
      return isOurs
    } catch (error) {
      edge.logger.warn({ err: error, requestId: claim.requestId }, 'an answer could not be kept yet')
      return true
    }
  }

  return {
    async keep({ contentType, headers, usage, pieces }: CompleteResponse): Promise<boolean> {
      const head = { contentType, headers: lastingHeaders(headers), usage }
      sealed = await sealResponse(await keys.current(), claim, head, pieces)
      const isOurs = await tryKeep()
      failpoint('edge.response-kept')
      return isOurs
    },

    /** A store that is away says nothing. */
    async owns(): Promise<boolean> {
      try {
        return (await store.renew([claim], CLAIM_LEASE_MS)).length === 0
      } catch {
        return true
      }
    },

    metered(): void {
      failpoint('edge.response-metered')
      isMetered = true
    },

    async free(): Promise<void> {
      if (sealed) return
      try {
        await store.release(claim)
      } catch (error) {
        edge.logger.warn({ err: error, requestId: claim.requestId }, 'an idempotency key was not freed; it will lapse')
      }
    },

    async conclude(): Promise<void> {
      if (!sealed) return this.free()
      for (let times = 0; !isKept && times < TRY_AGAIN_AT_MOST; times++) {
        await sleep(TRY_AGAIN_AFTER_MS, undefined, { ref: false })
        await tryKeep()
      }
      if (isKept && isMetered) await store.settle(claim)
    },
  }
}

function asGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error
  return new GatewayError('INTERNAL_ERROR', 'Something went wrong in the gateway', {}, { cause: error })
}
