/**
 * Counts the tokens of a Messages request by a target's own endpoint, where its best target has one.
 *
 * Nothing is generated and nothing charged, so a count takes no slot at the backend and says nothing of its health. It
 * has little time, and a few run at once; the edge estimates the others. The router leaves a target without the
 * endpoint alone for an hour, and one that failed for half a minute.
 */

import type { CountTokensQuestion, CountTokensReply } from '@gateway/contracts/count-tokens-api'
import { isObject } from '@gateway/contracts/json'
import { MOST_COUNTS } from '../clients/connections.ts'
import { NO_TIMEOUTS } from '../core/attempts.ts'
import { leaveOutAttribution } from '../core/attribution.ts'
import { BackendFault } from '../core/backend-fault.ts'
import { refusedOf } from '../core/feature-memory.ts'
import { withoutMembers } from '../core/refused-features.ts'
import { stripParameters } from '../core/strip-parameters.ts'
import { withoutUnsigned } from '../dialects/messages-to-messages/unsigned.ts'
import { versionHeaders } from '../dialects/messages-to-messages/version-headers.ts'
import { prependMembers } from '../dialects/chat-to-chat.ts'
import { isUsable, type BackendRegistry, type Target } from '../backend-registry.ts'

const WITHIN_MS = 2_000
const LARGEST_RESPONSE_BYTES = 16 * 1024
const ABSENT_FOR_MS = 3_600_000
const FAILED_FOR_MS = 30_000
/** The endpoint is not there: the server, or the proxy before it, does not know the path. */
const ABSENT = new Set([404, 405, 501])

export function openTokenCounts(backendRegistry: Pick<BackendRegistry, 'pool'>, withinMs = WITHIN_MS) {
  /** By target, until when the router sends it no count. */
  const resting = new Map<string, number>()
  let running = 0

  async function count(question: CountTokensQuestion): Promise<CountTokensReply> {
    const target = bestTarget(backendRegistry.pool(question.pool)?.targets ?? [])
    if (!target || !hasEndpoint(target) || isResting(target) || running >= MOST_COUNTS) return NOT_COUNTED
    running++
    try {
      return { inputTokens: await request(target, question, withinMs) }
    } catch (fault) {
      if (!(fault instanceof BackendFault)) throw fault
      // A refusal of the request itself says nothing of the next one.
      const restMs = ABSENT.has(fault.status ?? 0) ? ABSENT_FOR_MS : fault.status === 400 ? 0 : FAILED_FOR_MS
      if (restMs > 0) resting.set(target.key, performance.now() + restMs)
      return NOT_COUNTED
    } finally {
      running--
    }
  }

  function isResting({ key }: Target): boolean {
    const untilMs = resting.get(key)
    if (untilMs === undefined || untilMs > performance.now()) return untilMs !== undefined
    resting.delete(key)
    return false
  }

  return count
}

const NOT_COUNTED: CountTokensReply = { inputTokens: null }

/** The one that a request would most likely go to: another model's tokenizer counts other tokens. */
function bestTarget(targets: readonly Target[]): Target | undefined {
  const nowMs = performance.now()
  const usable = targets.filter((target) => isUsable(target, nowMs))
  return usable.toSorted((one, other) => one.priority - other.priority)[0]
}

function hasEndpoint({ backend: { config, profile } }: Target): boolean {
  return config.dialects.includes('messages') || profile.countsTokens === true
}

async function request(target: Target, question: CountTokensQuestion, withinMs: number): Promise<number> {
  const { backend, model, policies } = target
  const refused = refusedOf(target.state.refusedFeatures, question.anthropicBeta, performance.now())
  const prompt = Buffer.from(question.body)
  const own = backend.readsAttribution ? prompt : leaveOutAttribution(prompt)
  const signed = withoutUnsigned(withoutMembers(own, refused).body).body
  const { body } = stripParameters(signed, policies.messages)
  const route = backend.routes.messages
  const headers = route?.headers ?? backend.config.headers
  const exchange = backend.client.call({
    path: '/messages/count_tokens',
    headers: versionHeaders(headers, question, refused).headers,
    body: prependMembers({ model }, body),
    accept: 'application/json',
    requestId: question.requestId,
    budgetMs: withinMs,
    timeoutPolicy: NO_TIMEOUTS,
  })
  try {
    const { status } = await exchange.response
    if (status !== 200) throw new BackendFault('status', `the backend answered with status ${status}`, { status })
    return readCount(await exchange.readAll(LARGEST_RESPONSE_BYTES))
  } catch (fault) {
    exchange.abort(fault)
    throw fault
  }
}

function readCount(bytes: Buffer): number {
  let json: unknown
  try {
    json = JSON.parse(bytes.toString('utf8'))
  } catch (cause) {
    throw new BackendFault('invalid_answer', 'the count is not JSON', { cause })
  }
  const tokens = isObject(json) ? json['input_tokens'] : undefined
  if (typeof tokens === 'number' && Number.isSafeInteger(tokens) && tokens >= 0) return tokens
  throw new BackendFault('invalid_answer', 'the answer has no count of tokens')
}
