/**
 * Requests to `POST /v1/messages` and its responses, as Anthropic's Messages API has them (the types of
 * `@anthropic-ai/sdk` 1.12, 2026). The schema checks only the fields that the gateway reads; all others reach the
 * backend untouched.
 */

import * as z from 'zod'
import { boundedList, MOST_MESSAGES, MOST_TOOLS } from './chat.ts'

/** A block of a message, the system's prompt, or a tool's result. Kinds that the gateway does not read are the backend's to judge. */
const anyBlock = z.looseObject({ type: z.string(), text: z.string().nullish() })
const resultContent = z.union([z.string(), z.array(anyBlock)]).nullish()
const block = anyBlock.superRefine((given, context) => {
  if (given.type === 'tool_result' && !resultContent.safeParse(given.content).success) {
    context.addIssue({ code: 'custom', path: ['content'], message: 'must be a text or a list of content blocks' })
  }
})
const content = z.union([z.string(), z.array(block)])

const messageParam = z.looseObject({ role: z.enum(['user', 'assistant', 'system']), content })

/** Zero only fills the vendor's prompt cache. The upper bound keeps a charge a safe integer; no model comes near it. */
const tokenCap = z.int().min(0).max(10_000_000)

/** `POST /v1/messages/count_tokens` takes the members that decide about the prompt. */
export const countTokensRequest = z.looseObject({
  model: z.string().min(1),
  messages: boundedList(messageParam, MOST_MESSAGES).min(1),
  system: z.union([z.string(), z.array(block)]).nullish(),
  tools: boundedList(z.looseObject({ name: z.string().nullish(), type: z.string().nullish() }), MOST_TOOLS).nullish(),
  tool_choice: z.looseObject({ type: z.enum(['auto', 'any', 'tool', 'none']) }).nullish(),
  thinking: z.looseObject({ type: z.string() }).nullish(),
  output_config: z.looseObject({ format: z.looseObject({ type: z.string() }).nullish() }).nullish(),
})
export type CountTokensRequest = z.infer<typeof countTokensRequest>

export const messagesRequest = countTokensRequest.extend({
  max_tokens: tokenCap,
  stream: z.boolean().nullish(),
  temperature: z.number().min(0).max(1).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  top_k: z.int().min(0).nullish(),
  stop_sequences: z.array(z.string()).nullish(),
  metadata: z.looseObject({ user_id: z.string().nullish() }).nullish(),
})

const messagesUsage = z.looseObject({
  input_tokens: z.int(),
  cache_creation_input_tokens: z.int().nullish(),
  cache_read_input_tokens: z.int().nullish(),
  output_tokens: z.int(),
})

export const message = z.looseObject({
  id: z.string(),
  type: z.literal('message'),
  role: z.literal('assistant'),
  model: z.string(),
  content: z.array(z.looseObject({ type: z.string() })),
  stop_reason: z.string().nullable(),
  stop_sequence: z.string().nullable(),
  usage: messagesUsage,
})

/** `message_start`, `content_block_start`, `content_block_delta`, `content_block_stop`, `message_delta`, `message_stop`, `ping`. */
export const messageEvent = z.looseObject({ type: z.string() })

export const tokensCounted = z.object({ input_tokens: z.int() })
