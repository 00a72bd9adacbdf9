/**
 * The three APIs for a conversation. Each has its request for a stream and the schema of its events. The page shows all
 * three alike.
 */

import { chatChunk } from '@gateway/contracts/answers'
import type { ClientDialect } from '@gateway/contracts/vendors'
import * as z from 'zod'
import type { ResponseTokens } from '../core/charge.ts'

export interface ConversationRequest {
  model: string
  messages: { role: 'user' | 'assistant' | 'system'; content: string }[]
}

/** The content of one event. */
export interface Received {
  text?: string | null | undefined
  /** The model's reasoning, which comes before its text. */
  thought?: string | null | undefined
  model?: string | undefined
  finishReason?: string | null | undefined
  tokens?: Partial<ResponseTokens> | undefined
  isLast?: boolean
}

interface ConversationApi {
  label: string
  path: string
  body(request: ConversationRequest): object
  /** Parses an event's data. It refuses failures: `explain-problem.ts` explains them. */
  event: z.ZodType<Received>
}

/** The members that the page shows: a backend may leave out the others. A chunk may have `error: null`. */
const chunk = chatChunk.pick({ model: true, choices: true, usage: true }).partial({ model: true })

const chatEvent = chunk.transform(({ model, choices: [choice], usage }): Received => ({
  text: choice?.delta.content,
  thought: choice?.delta.reasoning_content,
  model,
  finishReason: choice?.finish_reason,
  tokens: usage
    ? {
        promptTokens: usage.prompt_tokens,
        completionTokens: usage.completion_tokens,
        cachedTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
        cacheWriteTokens: usage.prompt_tokens_details?.cache_write_tokens ?? 0,
      }
    : undefined,
}))

const count = z
  .int()
  .nullish()
  .transform((tokens) => tokens ?? 0)

const finishedResponse = z.object({
  model: z.string(),
  incomplete_details: z.object({ reason: z.string() }).nullish(),
  usage: z.object({
    input_tokens: count,
    output_tokens: count,
    input_tokens_details: z.object({ cached_tokens: count, cache_write_tokens: count }).nullish(),
  }),
})

const RESPONSE_ENDS = ['response.completed', 'response.incomplete'] as const
const THOUGHTS = ['response.reasoning_text.delta', 'response.reasoning_summary_text.delta'] as const
const FAILURES = ['error', 'response.failed']

const responseEvent = z.union([
  z
    .object({ type: z.literal('response.output_text.delta'), delta: z.string() })
    .transform(({ delta }): Received => ({ text: delta })),
  z.object({ type: z.enum(THOUGHTS), delta: z.string() }).transform(({ delta }): Received => ({ thought: delta })),
  z
    .object({ type: z.enum(RESPONSE_ENDS), response: finishedResponse })
    .transform(({ response: { model, incomplete_details, usage } }): Received => ({
      model,
      finishReason: incomplete_details?.reason ?? 'stop',
      tokens: {
        promptTokens: usage.input_tokens,
        completionTokens: usage.output_tokens,
        cachedTokens: usage.input_tokens_details?.cached_tokens ?? 0,
        cacheWriteTokens: usage.input_tokens_details?.cache_write_tokens ?? 0,
      },
      isLast: true,
    })),
  z.object({ type: z.string().refine((type) => !FAILURES.includes(type)) }).transform((): Received => ({})),
])

const promptUsage = { input_tokens: count, cache_read_input_tokens: count, cache_creation_input_tokens: count }
const startedMessage = z.object({ model: z.string(), usage: z.object(promptUsage) })

/**
 * The prompt's count stands in the first event, or in the last one where the backend counts it then. A count in the last
 * event replaces the estimate in the first, and zeros mean that there is none.
 */
function promptIn(usage: z.infer<typeof startedMessage>['usage']): Partial<ResponseTokens> {
  const { input_tokens, cache_read_input_tokens: cachedTokens, cache_creation_input_tokens: cacheWriteTokens } = usage
  const promptTokens = input_tokens + cachedTokens + cacheWriteTokens
  return promptTokens > 0 ? { promptTokens, cachedTokens, cacheWriteTokens } : {}
}

const messageEvent = z.union([
  z
    .object({ type: z.literal('message_start'), message: startedMessage })
    .transform(({ message: { model, usage } }): Received => {
      return { model, tokens: promptIn(usage) }
    }),
  z
    .object({
      type: z.literal('content_block_delta'),
      delta: z.object({ text: z.string().optional(), thinking: z.string().optional() }),
    })
    .transform(({ delta }): Received => ({ text: delta.text, thought: delta.thinking })),
  z
    .object({
      type: z.literal('message_delta'),
      delta: z.object({ stop_reason: z.string().nullish() }),
      usage: z.object({ ...promptUsage, output_tokens: count }),
    })
    .transform(({ delta, usage }): Received => ({
      finishReason: delta.stop_reason,
      tokens: { ...promptIn(usage), completionTokens: usage.output_tokens },
    })),
  z.object({ type: z.literal('message_stop') }).transform((): Received => ({ isLast: true })),
  z.object({ type: z.string().refine((type) => !FAILURES.includes(type)) }).transform((): Received => ({})),
])

/** The Messages API requires `max_tokens`. */
const MOST_TOKENS = 4_096

export const conversationApis: Record<ClientDialect, ConversationApi> = {
  chat: {
    label: 'Chat completions',
    path: '/v1/chat/completions',
    body: (request) => ({ ...request, stream: true, stream_options: { include_usage: true } }),
    event: z.union([z.literal('[DONE]').transform((): Received => ({ isLast: true })), chatEvent]),
  },
  responses: {
    label: 'Responses',
    path: '/v1/responses',
    body: ({ model, messages }) => ({ model, input: messages, stream: true }),
    event: responseEvent,
  },
  messages: {
    label: 'Messages',
    path: '/v1/messages',
    body: (request) => ({ ...request, max_tokens: MOST_TOKENS, stream: true }),
    event: messageEvent,
  },
}
