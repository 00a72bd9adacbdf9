/**
 * A chat completion request as a Messages request. The client is informed of every parameter that is not in it, and reads a
 * refusal where the loss would change the meaning.
 */

import { parseExactly, objectsOf, plainNumber } from '@gateway/contracts/json'
import { correctForm, type MessagesForm } from '../../core/messages-form.ts'
import { applyingTo, fitEffort } from '../../core/parameter-support.ts'
import type { TurnStates } from '../../core/reasoning-state.ts'
import { messagesFormOf, NEWEST } from '../../vendors/claude.ts'
import type { BackendRequest, ClientRequest } from '../dialect.ts'
import { hasLostThoughts, systemOf, turnsOf, type Json, type Lost, type Turn } from './content.ts'
import { refused } from '../../core/backend-fault.ts'
import type { JsonBy } from './json-text.ts'
import { thinkingMembers } from './thinking.ts'
import { withoutUnpriced } from '../unpriced.ts'
import { toolMembers } from './tools.ts'

/** The API demands a cap; this one holds where neither the client nor the lane has one. */
const DEFAULT_MAX_TOKENS = 4_096

/** They are in the request, or say nothing that is not. */
const TRANSLATED = new Set([
  ...['messages', 'max_tokens', 'max_completion_tokens', 'n', 'temperature', 'top_p', 'top_k', 'stop', 'tools'],
  ...['tool_choice', 'parallel_tool_calls', 'user', 'response_format', 'reasoning_effort', 'cache_control'],
])
/** Without these parameters a response would not serve the request. */
const ESSENTIAL = new Map(
  Object.entries<string>({
    functions: 'is not known to this model: use tools',
    function_call: 'is not known to this model: use tool_choice',
    audio: 'is not known to this model',
  }),
)

/** The parts of the request that reading the response needs. */
export interface Echo {
  json: JsonBy | null
}

export function writeMessagesRequest(
  clientRequest: ClientRequest,
): Pick<BackendRequest, 'body' | 'dropped'> & { echo: Echo } {
  if (clientRequest.kind !== 'chat') throw new Error(`the anthropic dialect knows no ${clientRequest.kind}`)
  const priced = withoutUnpriced(clientRequest)
  const chat = parseExactly(priced.body.toString('utf8')) as Json
  refuseEssentials(chat)
  const form = correctForm(messagesFormOf(clientRequest.model), clientRequest.form, NEWEST)
  const lostEffort = fitEffort(chat, clientRequest.form) ?? []
  const messages = objectsOf(chat.messages)
  const forgotten: Lost = new Set()
  const { system, turns } = conversationOf(messages, forgotten, clientRequest.turnStates)
  const maxTokens = Number(
    chat.max_completion_tokens ?? chat.max_tokens ?? clientRequest.maxTokens ?? DEFAULT_MAX_TOKENS,
  )
  const { dropped: lost, output_config: output, json, ...tools } = toolMembers(chat, form)
  const thoughts = thinkingMembers(chat.reasoning_effort, {
    form,
    maxTokens,
    isForced: tools.tool_choice?.type === 'any' || tools.tool_choice?.type === 'tool',
    hasLostThoughts: hasLostThoughts(turns),
  })
  const config = { ...output, ...(thoughts.effort ? { effort: thoughts.effort } : {}) }
  const sampling = samplingOf(chat, clientRequest, form, thoughts.thinking !== undefined)
  const request = {
    model: clientRequest.model,
    max_tokens: maxTokens,
    cache_control: chat.cache_control ?? undefined,
    ...sampling.members,
    stop_sequences: stopSequencesOf(chat.stop),
    ...tools,
    thinking: thoughts.thinking,
    output_config: Object.keys(config).length > 0 ? config : undefined,
    metadata: typeof chat.user === 'string' ? { user_id: chat.user } : undefined,
    stream: clientRequest.stream || undefined,
    system: json === 'text' ? withInstruction(system) : system,
    // The part that grows comes last: prompt caches compare requests from their beginning.
    messages: turns,
  }
  const unknown = Object.keys(chat).filter((name) => !TRANSLATED.has(name) && chat[name] != null)
  const dropped = [
    ...priced.dropped,
    ...unknown,
    ...forgotten,
    ...lost,
    ...sampling.dropped,
    ...(thoughts.isLost ? ['reasoning_effort'] : lostEffort),
  ]
  return { body: Buffer.from(JSON.stringify(request)), dropped: dropped.toSorted(), echo: { json } }
}

/** No model has a parameter for JSON of any shape, and a tool without a schema is called with `{}`. */
const IN_JSON = 'Answer with one JSON object and nothing else: no words around it, no code fence.'

function withInstruction(system: string | Json[] | undefined): string | Json[] {
  if (Array.isArray(system)) return [...system, { type: 'text', text: IN_JSON }]
  return system === undefined ? IN_JSON : `${system}\n\n${IN_JSON}`
}

/** The API wants a turn of the user's. Where there is none, the system's words take its place. */
function conversationOf(
  messages: Json[],
  lost: Lost,
  turnStates: TurnStates | undefined,
): { system: string | Json[] | undefined; turns: Turn[] } {
  const [system, turns] = [systemOf(messages, lost), turnsOf(messages, lost, turnStates)]
  if (turns.length > 0) return { system, turns }
  if (system === undefined) throw refused('messages', 'must hold words for this model')
  const content = typeof system === 'string' ? [{ type: 'text', text: system }] : system
  return { system: undefined, turns: [{ role: 'user', content }] }
}

function refuseEssentials(chat: Json): void {
  if (typeof chat.n === 'number' && chat.n > 1) throw refused('n', 'must be 1 for this model')
  for (const [name, why] of ESSENTIAL) if (chat[name] != null) throw refused(name, why)
}

/** While a model thinks it samples in its own way, and the newer ones always do. */
function samplingOf(
  chat: Json,
  { form }: ClientRequest,
  { sampling }: MessagesForm,
  thinks: boolean,
): { members: Json; dropped: string[] } {
  const requested = Object.fromEntries(['temperature', 'top_p', 'top_k'].map((name) => [name, plainNumber(chat[name])]))
  const given = Object.keys(requested).filter((name) => typeof requested[name] === 'number')
  const refused = applyingTo(form, chat)
  const isRefused = (name: string) =>
    thinks || sampling === 'none' || refused.some(({ parameter }) => parameter === name)
  // Its scale of temperature ends at 1, where OpenAI's ends at 2. It takes 1 where a request gives none.
  const isTooHot = (name: string) => name === 'temperature' && Number(requested[name]) > 1
  const isLeftOut = (name: string) => isRefused(name) || isTooHot(name)
  const members: Json = Object.fromEntries(
    given.filter((name) => !isLeftOut(name)).map((name) => [name, requested[name]]),
  )
  const lost = given.filter((name) => isLeftOut(name) && !isDefault(name, requested[name]))
  const spare = sampling === 'both' ? null : spareOf(members)
  if (spare === null) return { members, dropped: lost }
  const { [spare]: value, ...others } = members
  return { members: others, dropped: isDefault(spare, value) ? lost : [...lost, spare] }
}

/** Without them a model samples by 1 of each. */
function isDefault(name: string, value: unknown): boolean {
  return value === 1 && name !== 'top_k'
}

/** The one of the two that the request misses less: 1 is the default of both. */
function spareOf({ temperature, top_p: topP }: Json): 'temperature' | 'top_p' | null {
  if (temperature === undefined || topP === undefined) return null
  return temperature === 1 ? 'temperature' : 'top_p'
}

function stopSequencesOf(stop: unknown): unknown[] | undefined {
  if (typeof stop === 'string') return [stop]
  return Array.isArray(stop) && stop.length > 0 ? stop : undefined
}
