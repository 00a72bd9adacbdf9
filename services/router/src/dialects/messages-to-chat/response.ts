/**
 * A chat completion as a response of the Messages API, and the parts that a stream shares with it.
 */

import { type JsonObject, membersOf, objectsOf, wordOf } from '@gateway/contracts/json'
import type { TokenUsage } from '@gateway/contracts/usage'
import { choicesOf, textOf, thoughtsOf } from '../../core/chat-chunk.ts'
import type { Identity } from '../../core/complete-response.ts'
import { deltasOf, sealMarked, stateIn } from '../../core/reasoning-state.ts'
import { responseId } from '../../core/response-id.ts'
import { endingOf, type Ending } from '../../core/finish-reasons.ts'
import { ANTHROPIC_IDS, fitId, objectOfArguments } from '../../core/tool-calls.ts'
import { writeMessagesUsage } from '../messages-to-messages/response.ts'
import { UNSIGNED } from '../messages-to-messages/unsigned.ts'
import type { Echo } from './request.ts'

/** Reads the first choice: the API knows no more than one. */
export function messageOf(
  completion: JsonObject,
  usage: TokenUsage | null,
  echo: Echo,
  identity: Identity,
): JsonObject {
  const choice = choicesOf(completion)[0] ?? {}
  const message = membersOf(choice.message)
  const content = new Content(echo, identity, wordOf(completion.id))
  for (const delta of deltasOf(message)) content.add(delta)
  const refusal = typeof message.refusal === 'string' ? message.refusal : ''
  const stop = stopOf(choice, { hasCalls: content.calls > 0, refusal })
  return { ...writeMessage(completion, content.blocks, stop), ...(usage ? { usage: writeMessagesUsage(usage) } : {}) }
}

/** The blocks of a message, in the order of its deltas. */
class Content {
  readonly blocks: JsonObject[] = []
  calls = 0
  #echo: Echo
  #identity: Identity
  #id: string
  /** Sealed states that wait for the block behind them. */
  #states: string[] = []

  constructor(echo: Echo, identity: Identity, id: string) {
    this.#echo = echo
    this.#identity = identity
    this.#id = id
  }

  add(delta: JsonObject): void {
    const thoughts = this.#echo.showsThinking ? thoughtsOf(delta) : ''
    if (thoughts !== '') this.#push({ type: 'thinking', thinking: thoughts, signature: UNSIGNED })
    for (const value of stateIn(delta)) this.#addState(value)
    const text = textOf(delta.content)
    if (text !== '') this.#push(writeText(text))
    for (const call of objectsOf(delta.tool_calls)) this.#push(toolUseOf(call, `${this.#id}_${this.calls++}`))
  }

  #addState(value: unknown): void {
    const state = this.#echo.keepsState ? sealMarked(this.#identity, value) : null
    const last = this.blocks.at(-1)
    if (state === null) return
    if (last?.type === 'thinking' && last.signature === UNSIGNED) last.signature = state
    else this.#states.push(state)
  }

  #push(block: JsonObject): void {
    for (const data of this.#states.splice(0)) this.blocks.push(writeHiddenThought(data))
    this.blocks.push(block)
  }
}

/** A thought that only we can read, in the form that clients know. */
export function writeHiddenThought(data: string): JsonObject {
  return { type: 'redacted_thinking', data }
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
  const reason = refusal === '' ? reasonOf(choice, hasCalls) : 'refusal'
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

/**
 * Some servers end a response that calls tools by `stop`, and one without a call by `tool_calls`, where agents loop or stall
 * (open-octo/octo-agent#2382, 2026-09-10). Calls that were cut off may not be acted on.
 */
function reasonOf({ finish_reason: finish }: JsonObject, hasCalls: boolean): string {
  const ending = endingOf(finish)
  if (ending !== 'stop' && ending !== 'tool_calls') return STOP_REASONS[ending]
  return STOP_REASONS[hasCalls ? 'tool_calls' : 'stop']
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
