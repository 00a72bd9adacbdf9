/**
 * A chat completion request as a Responses request. The client is informed of every parameter that is not in it, and reads a
 * refusal where the loss would change the meaning.
 */

import { type JsonObject, objectsOf, parseExactly } from '@gateway/contracts/json'
import { refused } from '../../core/backend-fault.ts'
import { applyingTo, fitEffort } from '../../core/parameter-support.ts'
import { keepsState } from '../../core/reasoning-state.ts'
import { stripParameters } from '../../core/strip-parameters.ts'
import { reasons } from '../../vendors/openai.ts'
import { PLAIN_POLICIES } from '../../vendors/policies.ts'
import type { BackendRequest, ClientRequest } from '../dialect.ts'
import { inputOf } from './input.ts'
import { withoutUnpriced } from '../unpriced.ts'
import { formatOf, toolMembers } from './tools.ts'

/** Both APIs write them alike. */
const SAME = [
  ...['temperature', 'top_p', 'parallel_tool_calls', 'metadata', 'user', 'safety_identifier', 'service_tier'],
  ...['prompt_cache_key', 'prompt_cache_options', 'prompt_cache_retention', 'moderation'],
] as const
/** They are in the request under other names, or say nothing that is not. */
const TRANSLATED = new Set<string>([
  ...SAME,
  ...['messages', 'max_tokens', 'max_completion_tokens', 'n', 'tools', 'tool_choice', 'response_format', 'verbosity'],
  ...['reasoning_effort', 'logprobs', 'top_logprobs', 'store', 'stop', 'modalities'],
])
/** A response without them is none to the request. */
const ESSENTIAL: readonly (readonly [name: string, why: string])[] = [
  ['functions', 'is not known to this model: use tools'],
  ['function_call', 'is not known to this model: use tool_choice'],
  ['audio', 'is not known to this model'],
]

export function writeResponsesRequest(clientRequest: ClientRequest): Pick<BackendRequest, 'body' | 'dropped'> {
  if (clientRequest.kind !== 'chat') throw new Error(`no ${clientRequest.kind} can be asked in the Responses API`)
  const priced = withoutUnpriced(clientRequest)
  const chat = parseExactly(priced.body.toString('utf8')) as JsonObject
  refuseEssentials(chat)
  const lostEffort = fitEffort(chat, clientRequest.form) ?? []
  const rejected = new Set<string>(applyingTo(clientRequest.form, chat).map(({ parameter }) => parameter))
  const given = (name: string): unknown => (rejected.has(name) ? undefined : (chat[name] ?? undefined))
  const input = inputOf(objectsOf(chat.messages), clientRequest.turnStates)
  const tools = toolMembers(chat)
  const text = { format: formatOf(chat.response_format), verbosity: given('verbosity') }
  const wantsLogprobs = given('logprobs') === true
  const request = {
    model: clientRequest.model,
    ...Object.fromEntries(SAME.map((name) => [name, given(name)])),
    max_output_tokens: chat.max_completion_tokens ?? chat.max_tokens ?? clientRequest.maxTokens,
    reasoning: given('reasoning_effort') === undefined ? undefined : { effort: chat.reasoning_effort },
    text: Object.values(text).some((member) => member !== undefined) ? text : undefined,
    include: includeOf(chat, clientRequest, wantsLogprobs),
    ...(wantsLogprobs ? { top_logprobs: given('top_logprobs') } : {}),
    ...tools.members,
    store: false,
    stream: clientRequest.stream || undefined,
    // The part that grows comes last: prompt caches compare requests from their beginning.
    input: input.items,
  }
  const lost = Object.keys(chat).filter((name) => chat[name] != null && (!TRANSLATED.has(name) || rejected.has(name)))
  const stored = chat.store === true ? ['store'] : []
  const { policy = PLAIN_POLICIES.responses } = clientRequest
  const stripped = stripParameters(Buffer.from(JSON.stringify(request)), policy)
  const dropped = [
    ...priced.dropped,
    ...lostEffort,
    ...lost,
    ...stored,
    ...input.dropped,
    ...tools.dropped,
    ...stripped.dropped,
  ]
  return { body: stripped.body, dropped: [...new Set(dropped)].toSorted() }
}

const LOGPROBS = 'message.output_text.logprobs'
const REASONING = 'reasoning.encrypted_content'

/** OpenAI refuses to encrypt for a model that does not reason (pydantic/pydantic-ai#2865, 2025-09-11). */
function includeOf(chat: JsonObject, clientRequest: ClientRequest, wantsLogprobs: boolean) {
  const encrypts = keepsState(clientRequest) && (reasons(clientRequest.model) || chat.reasoning_effort != null)
  const include = [...(wantsLogprobs ? [LOGPROBS] : []), ...(encrypts ? [REASONING] : [])]
  return include.length > 0 ? include : undefined
}

function refuseEssentials(chat: JsonObject): void {
  if (typeof chat.n === 'number' && chat.n > 1) throw refused('n', 'must be 1 for this model')
  if (isText(chat.stop) || (Array.isArray(chat.stop) && chat.stop.length > 0))
    throw refused('stop', 'is not known to this model')
  if (Array.isArray(chat.modalities) && chat.modalities.some((one) => one !== 'text'))
    throw refused('modalities', 'must be text alone for this model')
  for (const [name, why] of ESSENTIAL) if (chat[name] != null) throw refused(name, why)
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}
