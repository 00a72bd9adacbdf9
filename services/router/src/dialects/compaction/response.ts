/**
 * A target's summary as a compaction item, sealed for the account. A response without a whole summary is a fault of the
 * attempt, and nothing of it is sealed: another target may write one.
 */

import type { TokenUsage } from '@gateway/contracts/usage'
import type { CompactionForm } from '@gateway/contracts/usage-event'
import { type JsonObject, membersOf } from '@gateway/contracts/json'
import { BackendFault, refused } from '../../core/backend-fault.ts'
import { choicesOf, isFinished, textOf } from '../../core/chat-chunk.ts'
import type { Identity } from '../../core/complete-response.ts'
import { endingOf } from '../../core/finish-reasons.ts'
import { MOST_SUMMARY_BYTES, type StateSeal } from '../../core/state-seal.ts'
import type { ClientStream } from '../via-chat.ts'
import type { Echo } from '../responses-to-chat/request.ts'
import { hasRefused, readCompletion, writeUsage } from '../responses-to-chat/response.ts'

/** The parts of a compaction's request that its response needs. */
export interface Compaction {
  form: CompactionForm
  states: StateSeal
  /** The user's messages that the client gets back. */
  kept: JsonObject[]
  /** The client's own cap bounds the summary. */
  isCapped: boolean
}

export interface CompactionEcho extends Echo {
  compaction: Compaction
}

/** A completion as the client's response: the object of the endpoint, or a response with the one item. */
export function readSummary(
  completion: JsonObject,
  usage: TokenUsage | null,
  echo: CompactionEcho,
  identity: Identity,
): JsonObject {
  const { form, kept } = echo.compaction
  const item = compactionItem(summaryOf(completion, echo.compaction), echo.compaction, identity)
  if (form === 'trigger') {
    const message = { role: 'assistant', content: '' }
    const empty = { ...completion, choices: [{ index: 0, message, finish_reason: 'stop' }] }
    return { ...readCompletion(empty, usage, echo, identity), output: [item] }
  }
  const messages = kept.map((message, at) => ({
    id: `msg_${suffixOf(identity)}_${at}`,
    status: 'completed',
    ...message,
  }))
  return {
    id: identity.id,
    object: 'response.compaction',
    created_at: identity.created,
    output: [...messages, item],
    usage: usage && writeUsage(usage),
  }
}

function compactionItem(summary: string, { states }: Compaction, identity: Identity): JsonObject {
  const sealed = states.seal('compaction', summary)
  if (sealed === null) throw noSummary('it is too long to be sealed')
  return { id: `cmp_${suffixOf(identity)}`, type: 'compaction', encrypted_content: sealed }
}

function suffixOf({ id }: Identity): string {
  return id.replace(/^resp_/, '')
}

function summaryOf(completion: JsonObject, { isCapped }: Compaction): string {
  const [choice = {}] = choicesOf(completion)
  const message = membersOf(choice.message)
  const ending = endingOf(choice.finish_reason)
  if (ending === 'length' && isCapped)
    throw refused('max_output_tokens', 'is too small for the summary of this conversation')
  if (ending !== 'stop') throw noSummary(`it ended by ${ending}`)
  if (hasRefused(message)) throw noSummary('the model refused')
  const text = textOf(message.content).trim()
  if (text === '') throw noSummary('it is empty')
  return text
}

export function noSummary(why: string): BackendFault {
  return new BackendFault('no_summary', `the backend wrote no summary: ${why}`)
}

/** Sends nothing until the summary is whole: until then another target may serve the request. */
export class SummaryEvents implements ClientStream {
  readonly isHeld = true
  #echo: CompactionEcho
  #identity: Identity
  #named: JsonObject = {}
  #text = ''
  #refusal = ''
  #reason: unknown

  constructor(echo: CompactionEcho, identity: Identity) {
    this.#echo = echo
    this.#identity = identity
  }

  take(chunk: JsonObject): null {
    if (typeof chunk.model === 'string') this.#named = { model: chunk.model }
    const [choice] = choicesOf(chunk)
    if (!choice) return null
    const delta = membersOf(choice.delta)
    this.#text += textOf(delta.content)
    this.#refusal += textOf(delta.refusal)
    if (this.#text.length > MOST_SUMMARY_BYTES) throw noSummary('it is too long')
    if (isFinished(choice)) this.#reason = choice.finish_reason
    return null
  }

  close(usage: TokenUsage): Buffer {
    const message = { content: this.#text, refusal: this.#refusal }
    const completion = { ...this.#named, choices: [{ message, finish_reason: this.#reason }] }
    return eventsOf(readSummary(completion, usage, this.#echo, this.#identity))
  }
}

function eventsOf(response: JsonObject): Buffer {
  const [item] = response.output as JsonObject[]
  const begun = { ...response, status: 'in_progress', output: [], usage: null }
  const opening = { response: 'completed_at' in begun ? { ...begun, completed_at: null } : begun }
  const events: [type: string, members: JsonObject][] = [
    ['response.created', opening],
    ['response.in_progress', opening],
    ['response.output_item.added', { output_index: 0, item: { ...item, encrypted_content: '' } }],
    ['response.output_item.done', { output_index: 0, item }],
    ['response.completed', { response }],
  ]
  const written = events.map(([type, members], sequence_number) => {
    return `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, ...members })}\n\n`
  })
  return Buffer.from(written.join(''))
}
