/**
 * A chat completion as a response object.
 */

import type { TokenUsage } from '@gateway/contracts/usage'
import { choicesOf, textOf, thoughtsOf } from '../../core/chat-chunk.ts'
import { endingOf } from '../../core/finish-reasons.ts'
import { type JsonObject, isObject, membersOf, objectsOf } from '@gateway/contracts/json'
import type { Identity } from '../../core/complete-response.ts'
import { deltasOf, sealValue, stateIn } from '../../core/reasoning-state.ts'
import { NO_LISTENER, Output } from './output.ts'
import type { Echo } from './request.ts'

export function readCompletion(
  completion: JsonObject,
  usage: TokenUsage | null,
  echo: Echo,
  identity: Identity,
): JsonObject {
  const [choice = {}] = choicesOf(completion)
  const output = new Output(NO_LISTENER, echo.own, identity.id)
  let { logprobs } = choice
  for (const delta of deltasOf(membersOf(choice.message))) {
    addDelta(output, delta, logprobs, { ...echo, identity })
    if (textOf(delta.content) !== '') logprobs = null
  }
  const end = endOf(choice.finish_reason, hasRefused(choice.message))
  output.end(end.status)
  const made = { ...identity, ...modelOf(completion) }
  return { ...responseOf(made, end, output.items), usage: usage && writeUsage(usage), ...echo.settings }
}

/** The model by which the backend responds, as in chat. */
export function modelOf({ model }: JsonObject): { model?: string } {
  return typeof model === 'string' && model !== '' ? { model } : {}
}

/** A delta of a stream, or a whole message: chat writes both alike. */
export function addDelta(
  output: Output,
  delta: JsonObject,
  logprobs: unknown,
  { wantsSummary, identity }: Pick<Echo, 'wantsSummary'> & { identity: Identity },
): void {
  const thought = thoughtsOf(delta)
  if (thought !== '') output.writeText('reasoning', wantsSummary ? 'summary_text' : 'reasoning_text', thought)
  for (const value of stateIn(delta)) output.writeState(sealValue(identity, value))
  const text = textOf(delta.content)
  if (text !== '') output.writeText('message', 'output_text', text, logprobsOf(logprobs))
  const refusal = textOf(delta.refusal)
  if (refusal !== '') output.writeText('message', 'refusal', refusal)
  if (!Array.isArray(delta.tool_calls)) return
  delta.tool_calls.filter(isObject).forEach((call, position) => {
    const { name, arguments: args } = membersOf(call.function)
    output.call(typeof call.index === 'number' ? call.index : position, { id: call.id, name, args })
  })
}

export function hasRefused(delta: unknown): boolean {
  return isObject(delta) && textOf(delta.refusal) !== ''
}

function logprobsOf(logprobs: unknown): JsonObject[] {
  return isObject(logprobs) ? objectsOf(logprobs.content).map(completeLogprob) : []
}

/** Some servers leave out the alternatives, or write null for the bytes of a token. */
function completeLogprob(logprob: JsonObject): JsonObject {
  return { ...withBytes(logprob), top_logprobs: objectsOf(logprob.top_logprobs).map(withBytes) }
}

function withBytes(logprob: JsonObject): JsonObject {
  return { ...logprob, bytes: Array.isArray(logprob.bytes) ? logprob.bytes : [] }
}

export interface End {
  status: 'completed' | 'incomplete'
  incomplete: string | null
}

/** A refusal that says so is a response. */
export function endOf(finishReason: unknown, refused: boolean): End {
  const ending = endingOf(finishReason)
  if (ending === 'length') return { status: 'incomplete', incomplete: 'max_output_tokens' }
  if (ending === 'content_filter' && !refused) return { status: 'incomplete', incomplete: 'content_filter' }
  return { status: 'completed', incomplete: null }
}

/** All of a response but the usage and the settings, which its request decides. */
export function responseOf(
  { id, created, model, clock }: Identity,
  { status, incomplete }: { status: End['status'] | 'in_progress'; incomplete: string | null },
  output: unknown[],
): JsonObject {
  return {
    id,
    object: 'response',
    created_at: created,
    completed_at: status === 'completed' ? completedAt({ created, clock }) : null,
    status,
    error: null,
    incomplete_details: incomplete === null ? null : { reason: incomplete },
    model,
    output,
  }
}

/** A clock that was set back does not complete a response before its begin. */
export function completedAt({ created, clock }: Pick<Identity, 'created' | 'clock'>): number {
  return Math.max(created, clock?.() ?? created)
}

export function writeUsage(usage: TokenUsage): JsonObject {
  return {
    input_tokens: usage.promptTokens,
    input_tokens_details: { cached_tokens: usage.cachedTokens, cache_write_tokens: usage.cacheWriteTokens ?? 0 },
    output_tokens: usage.completionTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.promptTokens + usage.completionTokens,
  }
}

export function withUsage(response: JsonObject, usage: TokenUsage): JsonObject {
  return { ...response, usage: writeUsage(usage) }
}

/** For counting tokens where the backend did not. */
export function generatedTextOf({ output }: JsonObject): string {
  if (!Array.isArray(output)) return ''
  return output.filter(isObject).map(textOfItem).join('\n')
}

function textOfItem(item: JsonObject): string {
  const parts = [item.content, item.summary].flatMap((list) => objectsOf(list))
  const texts = parts.map((part) => part.text ?? part.refusal)
  return [...texts, item.name, item.arguments, item.input].filter((text) => typeof text === 'string').join('')
}
