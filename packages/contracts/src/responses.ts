/**
 * Requests to `POST /v1/responses` and `/v1/responses/compact`, as OpenAI's Responses API has them (the types of `openai`
 * 7.55, 2026). The schema checks the fields that the gateway reads, and refuses those that need a memory of former
 * responses: the gateway keeps none.
 */

import * as z from 'zod'
import {
  boundedList,
  DEFAULT_CHAT_MODEL,
  MOST_MESSAGES,
  MOST_TOOLS,
  requestMetadata,
  tokenCap,
  tooMany,
} from './chat.ts'
import { isObject } from './json.ts'

const part = z.looseObject({
  type: z.string(),
  text: z.string().nullish(),
  refusal: z.string().nullish(),
  image_url: z.string().nullish(),
})
const parts = z.array(part)
const content = z.union([z.string(), parts])

/** The members that an item must have, by its type. The backend judges items of other types. */
const REQUIRED = new Map(
  Object.entries<readonly string[]>({
    message: ['role'],
    function_call: ['call_id', 'name', 'arguments'],
    function_call_output: ['call_id', 'output'],
    custom_tool_call: ['call_id', 'name', 'input'],
    custom_tool_call_output: ['call_id', 'output'],
    compaction: ['encrypted_content'],
  }),
)

const inputItem = z
  .looseObject({
    type: z.string().nullish(),
    role: z.enum(['user', 'assistant', 'system', 'developer']).nullish(),
    content: z.union([z.string(), parts]).nullish(),
    call_id: z.string().nullish(),
    name: z.string().nullish(),
    namespace: z.string().nullish(),
    // tool_search_call has an object there.
    arguments: z.unknown().optional(),
    input: z.string().nullish(),
    output: z.unknown().optional(),
    summary: z.array(part).nullish(),
    encrypted_content: z.string().nullish(),
  })
  .superRefine((item, context) => {
    const type = item.type ?? 'message'
    if (type === 'item_reference') {
      context.addIssue({
        code: 'custom',
        path: ['type'],
        message:
          'must not be item_reference: the gateway keeps no items; send the items themselves, as clients do with store: false',
      })
    }
    // Codex sends null for nothing (can1357/oh-my-pi#10956, 2026-09-05).
    if (type === 'message' && item.content === undefined) {
      context.addIssue({ code: 'custom', path: ['content'], message: 'is required' })
    }
    for (const name of REQUIRED.get(type) ?? []) {
      if (item[name] == null) context.addIssue({ code: 'custom', path: [name], message: 'is required' })
    }
    if (type === 'function_call' && typeof item.arguments !== 'string') {
      context.addIssue({ code: 'custom', path: ['arguments'], message: 'must be a string' })
    }
    if (type.endsWith('call_output') && REQUIRED.has(type) && !content.safeParse(item.output).success) {
      context.addIssue({ code: 'custom', path: ['output'], message: 'must be a text or a list of content parts' })
    }
  })

/** Functions and custom tools are the client's own; all others are run by a vendor. */
const tool = z
  .looseObject({ type: z.string(), name: z.string().nullish(), tools: z.array(z.looseObject({})).nullish() })
  .superRefine(({ type, name, tools }, context) => {
    if (['function', 'custom', 'namespace'].includes(type) && !name) {
      context.addIssue({ code: 'custom', path: ['name'], message: 'is required' })
    }
    if (type === 'namespace' && !tools) {
      context.addIssue({ code: 'custom', path: ['tools'], message: 'is required' })
    }
  })

/** The input item by which a client requests that the conversation before it be compacted. */
const COMPACTION_TRIGGER = 'compaction_trigger'

export function endsInTrigger(input: unknown): boolean {
  const last: unknown = Array.isArray(input) ? input.at(-1) : null
  return isObject(last) && last.type === COMPACTION_TRIGGER
}

const KEEPS_NOTHING = 'must be left out: the gateway keeps no responses; send the whole conversation as input'

export const responsesRequest = z.looseObject({
  model: z.string().min(1).default(DEFAULT_CHAT_MODEL),
  // Before `input`, which such a request leaves out: the client reads the first problem.
  previous_response_id: z.null(KEEPS_NOTHING).optional(),
  conversation: z.null(KEEPS_NOTHING).optional(),
  // Behind the union, whose own complaint names no bound.
  input: z
    .union([z.string(), z.array(inputItem).min(1)])
    .refine((input) => input.length <= MOST_MESSAGES || typeof input === 'string', tooMany(MOST_MESSAGES))
    .superRefine((input, context) => {
      if (typeof input === 'string') return
      const at = input.findIndex(({ type }) => type === COMPACTION_TRIGGER)
      if (at >= 0 && at < input.length - 1)
        context.addIssue({
          code: 'custom',
          path: [at, 'type'],
          message: 'must be the last item: it compacts all before it',
        })
    }),
  instructions: z.string().nullish(),
  max_output_tokens: tokenCap,
  stream: z.boolean().nullish(),
  /** It changes nothing, since nothing is stored: the response says `store: false`. */
  store: z.boolean().nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  tools: boundedList(tool, MOST_TOOLS).nullish(),
  tool_choice: z
    .union([z.enum(['none', 'auto', 'required']), z.looseObject({ type: z.string(), name: z.string().nullish() })])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  text: z
    .looseObject({
      format: z
        .looseObject({
          type: z.enum(['text', 'json_object', 'json_schema']),
          name: z.string().nullish(),
          schema: z.looseObject({}).nullish(),
        })
        .nullish(),
    })
    .nullish(),
  reasoning: z.looseObject({ effort: z.string().nullish(), summary: z.string().nullish() }).nullish(),
  include: z.array(z.string()).nullish(),
  metadata: requestMetadata.nullish(),
  truncation: z.enum(['auto', 'disabled']).nullish(),
  prompt_cache_key: z.string().nullish(),
  safety_identifier: z.string().nullish(),
  max_tool_calls: z.int().min(1).nullish(),
  background: z.literal(false, 'must be false: ask with stream, and read the answer as it comes').nullish(),
})

/** The router requests a summary in its own words, which count as a part of the prompt. They have at most so many bytes. */
export const MOST_COMPACTION_PROMPT_BYTES = 2_000

export const compactRequest = responsesRequest.extend({
  model: z.string('is required').min(1),
  stream: z.literal(false, 'must be left out: a compaction comes as one JSON object').nullish(),
})

const responseUsage = z.looseObject({
  input_tokens: z.int(),
  output_tokens: z.int(),
  total_tokens: z.int(),
  input_tokens_details: z.looseObject({ cached_tokens: z.int() }).nullish(),
  output_tokens_details: z.looseObject({ reasoning_tokens: z.int() }).nullish(),
})

export const responseObject = z.looseObject({
  id: z.string(),
  object: z.literal('response'),
  created_at: z.number(),
  status: z.enum(['completed', 'incomplete']),
  /** The backend that served the request; it can differ from the model of the request. */
  model: z.string(),
  /** Thoughts, messages and calls, in the order in which they were generated. */
  output: z.array(z.looseObject({ type: z.string() })),
  incomplete_details: z.looseObject({ reason: z.string() }).nullish(),
  usage: responseUsage,
})

export const compactedResponse = z.looseObject({
  id: z.string(),
  object: z.literal('response.compaction'),
  created_at: z.number(),
  /** The input of the next request: the newest messages of the user, and one item that stands for all else. */
  output: z.array(z.looseObject({ type: z.string() })),
  usage: responseUsage,
})

export const responseEvent = z.looseObject({
  type: z.string(),
  /** Counts from 0 without a gap. */
  sequence_number: z.int(),
})

export type ResponsesRequest = z.infer<typeof responsesRequest>
export type CompactRequest = z.infer<typeof compactRequest>
export type ResponsesItem = z.infer<typeof inputItem>
