/**
 * A chat completion as a response of the Messages API, and the parts that a stream shares with it.
 */

import { type JsonObject, membersOf, objectsOf, wordOf } from '@gateway/contracts/json'
import type { TokenUsage } from '@gateway/contracts/usage'
import { choicesOf, textOf, thoughtsOf } from '../../core/chat-chunk.ts'
import { responseId } from '../../core/response-id.ts'
import { endingOf, type Ending } from '../../core/finish-reasons.ts'
import { ANTHROPIC_IDS, fitId, objectOfArguments } from '../../core/tool-calls.ts'
import { writeMessagesUsage } from '../messages-to-messages/response.ts'
import { UNSIGNED } from '../messages-to-messages/unsigned.ts'
import type { Echo } from './request.ts'

/** Reads the first choice: the API knows no more than one. */
export function messageOf(completion: JsonObject, usage: TokenUsage | null, echo: Echo): JsonObject {
  const choice = choicesOf(completion)[0] ?? {}
  const message = membersOf(choice.message)
  const calls = objectsOf(message.tool_calls)
  const thoughts = echo.showsThinking ? thoughtsOf(message) : ''
  const text = textOf(message.content)
  const content = [
    ...(thoughts === '' ? [] : [{ type: 'thinking', thinking: thoughts, signature: UNSIGNED }]),
    ...(text === '' ? [] : [writeText(text)]),
    ...calls.map((call, at) => toolUseOf(call, `${wordOf(completion.id)}_${at}`)),
  ]
  const refusal = typeof message.refusal === 'string' ? message.refusal : ''
  const stop = stopOf(choice, { hasCalls: calls.length > 0, refusal })
  return { ...writeMessage(completion, content, stop), ...(usage ? { usage: writeMessagesUsage(usage) } : {}) }
}

/** All but the usage. Strict clients refuse null for a member that only the vendor's own responses have. */
export function writeMessage({ id: reported, model }: JsonObject, content: unknown[], stop: JsonObject): JsonObject {
  const id = responseId('messages', wordOf(reported))
  return { id, type: 'message', role: 'assistant', model, content, ...stop }
}

export function writeText(text: string): JsonObject {
  return { type: 'text', text }
}

/** The model itself calls: no program of the vendor does. */
export function writeToolUse(id: unknown, name: unknown, input: JsonObject): JsonObject {
  return { type: 'tool_use', id, name, input, caller: { type: 'direct' } }
}

/** The members of a message, or of the event that ends it, which say why the model has stopped. */
export function stopOf(choice: JsonObject, { hasCalls, refusal }: { hasCalls: boolean; refusal: string }): JsonObject {
  const matched = matchedStop(choice)
  const reason =
    refusal !== '' ? 'refusal' : hasCalls ? callsReason(choice) : STOP_REASONS[endingOf(choice.finish_reason)]
  const details = { type: 'refusal', category: null, explanation: refusal }
  const isMatched = matched !== null && reason === 'end_turn'
  return {
    stop_reason: isMatched ? 'stop_sequence' : reason,
    stop_sequence: isMatched ? matched : null,
    ...(refusal === '' ? {} : { stop_details: details }),
  }
}

const STOP_REASONS: Record<Ending, string> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
}

/** Some servers end a response that calls tools by `stop`. One that was cut off may not be acted on. */
function callsReason({ finish_reason: finish }: JsonObject): string {
  const ending = endingOf(finish)
  return STOP_REASONS[ending === 'stop' ? 'tool_calls' : ending]
}

/** vLLM's `stop_reason` and SGLang's `matched_stop` name the text; a number is a token that ends any response. */
function matchedStop({ stop_reason: ofVllm, matched_stop: ofSglang }: JsonObject): string | null {
  if (typeof ofVllm === 'string') return ofVllm
  return typeof ofSglang === 'string' ? ofSglang : null
}

function toolUseOf({ id, function: called }: JsonObject, ownId: string): JsonObject {
  const { name, arguments: text } = membersOf(called)
  return writeToolUse(fitId(id || ownId, ANTHROPIC_IDS), name, objectOfArguments(text))
}
