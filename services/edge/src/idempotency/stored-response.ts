/**
 * A response as it is kept, and given again. Its bytes and the headers about them are as they were; the account's quota
 * status is as of now.
 *
 * It is compressed, then sealed to its key. So the store holds nothing that can be read, and nothing that opens under another
 * key, request or account. Inside are the length of the head (4 bytes), the head as JSON, and the response's own bytes.
 *
 * The response was kept before its usage was stored. Where nothing confirms that the usage is stored, the edge reports it
 * again first. The ledger takes each request once, so the response is paid for exactly once, for any number of readers.
 */

import { promisify } from 'node:util'
import { deflateRaw, deflateRawSync, inflateRaw, inflateRawSync } from 'node:zlib'
import { monthOf } from '@gateway/admission/month'
import type { ConfigSource } from '@gateway/config/config-source'
import { GatewayError } from '@gateway/contracts/errors'
import type { UsageEvent } from '@gateway/contracts/usage-event'
import type { ClaimResult, HeldKey } from '@gateway/idempotency/port'
import { findPlan } from '@gateway/contracts/models'
import { keptHead, type KeptHead } from '@gateway/contracts/idempotency'
import { open, seal, type SealingKeys } from '@gateway/sealing/sealing'
import type { Logger } from '@gateway/telemetry/logger'
import type { ProvenCaller } from '../auth/authenticate.ts'
import { effectiveLimit } from '../core/effective-limit.ts'
import { quotaHeaders } from '../core/response-headers.ts'
import type { EdgeMetrics } from '../metrics.ts'
import type { MeteringClient } from '../rpc/service-clients.ts'
import type { UsageReporter } from '../relay/settle.ts'
import type { IdempotencyPorts } from './ports.ts'
import type { HttpClient } from '../relay/http-client.ts'
import { MAX_KEPT_BYTES } from './shared-response.ts'

export interface ReplayContext {
  config: ConfigSource
  idempotency: IdempotencyPorts
  metering: MeteringClient
  usage: UsageReporter
  logger: Logger
  metrics: EdgeMetrics
}

/** False: it cannot be read any more and is forgotten. */
export async function replayResponse(
  edge: ReplayContext,
  held: HeldKey,
  kept: Extract<ClaimResult, { kind: 'kept' }>,
  caller: ProvenCaller,
  reader: HttpClient,
): Promise<boolean> {
  const response = await openKept(edge, held, kept.response)
  if (!response) return false
  if (!kept.settled) await reportUsage(edge, held, response.head.usage)
  const headers = { ...response.head.headers, ...(await quotaNow(edge, caller)) }
  if (reader.isOver()) return true
  reader.replays(held.requestId)
  reader.begin(response.head.contentType, () => headers)
  reader.write(response.body)
  reader.finish(() => headers)
  edge.metrics.idempotent('replayed')
  return true
}

/** Null: it is sealed under a master secret that keys does not hold any more, or was altered. */
async function openKept(edge: ReplayContext, held: HeldKey, sealed: Uint8Array): Promise<StoredResponse | null> {
  try {
    return await openResponse(await edge.idempotency.keys.current(), held, sealed)
  } catch (error) {
    if (error instanceof GatewayError) throw error
    edge.logger.error(
      { err: error, requestId: held.requestId },
      'a kept answer cannot be opened; the request runs anew',
    )
    await edge.idempotency.store.release(held).catch(() => {})
    return null
  }
}

async function reportUsage(edge: ReplayContext, held: HeldKey, usage: UsageEvent): Promise<void> {
  try {
    await edge.usage.report(usage).inTime
  } catch (cause) {
    throw new GatewayError('SERVICE_UNAVAILABLE', 'The answer could not be metered in time', {}, { cause })
  }
  // Otherwise the next one reports it once more, which changes nothing.
  edge.idempotency.store.settle(held).catch(() => {})
}

async function quotaNow(edge: ReplayContext, caller: ProvenCaller): Promise<Record<string, string>> {
  const plan = findPlan(edge.config.current, caller.plan)
  const { used, resetAtMs } =
    caller.used === null
      ? await edge.metering.quota({ account: caller.account, unit: plan.unit })
      : { used: caller.used, resetAtMs: monthOf(Date.now()).resetsAtMs }
  const limit = effectiveLimit(plan, caller)
  return quotaHeaders({ plan: plan.slug, used, limit, windowResetAtMs: resetAtMs }, plan.unit)
}

interface StoredResponse {
  head: KeptHead
  body: Uint8Array
}

const MASTER_KEY_ID_LENGTH = 12
const MAX_HEAD_BYTES = 64 * 1024
/** Above this size packing takes longer than the way to another thread and back, so it goes there. */
const AT_ONCE_BYTES = 32 * 1024
const PACKING = { level: 1 }
const UNPACKING = { maxOutputLength: MAX_KEPT_BYTES + MAX_HEAD_BYTES }
const deflate = promisify(deflateRaw)
const inflate = promisify(inflateRaw)

export async function sealResponse(
  keys: SealingKeys,
  held: HeldKey,
  head: KeptHead,
  pieces: readonly Uint8Array[],
): Promise<Uint8Array> {
  const headBytes = Buffer.from(JSON.stringify(head))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(headBytes.byteLength)
  const record = Buffer.concat([length, headBytes, ...pieces])
  const packed = record.byteLength <= AT_ONCE_BYTES ? deflateRawSync(record, PACKING) : await deflate(record, PACKING)
  const { masterKeyId, sealed } = seal(keys, packed, bindingOf(held))
  return Buffer.concat([Buffer.from(masterKeyId, 'hex'), sealed])
}

/** Throws where it was altered, moved, or sealed under a key that is not among these. */
export async function openResponse(keys: SealingKeys, held: HeldKey, kept: Uint8Array): Promise<StoredResponse> {
  const masterKeyId = Buffer.from(kept.subarray(0, MASTER_KEY_ID_LENGTH / 2)).toString('hex')
  const packed = open(keys, { masterKeyId, sealed: kept.subarray(MASTER_KEY_ID_LENGTH / 2) }, bindingOf(held))
  const record =
    packed.byteLength <= AT_ONCE_BYTES ? inflateRawSync(packed, UNPACKING) : await inflate(packed, UNPACKING)
  const bodyAt = 4 + record.readUInt32BE(0)
  const head = keptHead.parse(JSON.parse(record.subarray(4, bodyAt).toString()))
  return { head, body: record.subarray(bodyAt) }
}

function bindingOf({ account, name, requestId }: HeldKey): string {
  return `answer ${account} ${name} ${requestId}`
}
