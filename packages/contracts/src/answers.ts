/**
 * Responses of the inference endpoints. Backends may add members of their own; these are the ones that clients can
 * rely on.
 */

import * as z from 'zod'

const promptUsage = { prompt_tokens: z.int(), total_tokens: z.int() }

const chatUsage = z.looseObject({
  ...promptUsage,
  completion_tokens: z.int(),
  /** Set where the backend reports how many of the prompt's tokens it had cached, and how many it has cached now. */
  prompt_tokens_details: z
    .looseObject({ cached_tokens: z.int().nullish(), cache_write_tokens: z.int().nullish() })
    .nullish(),
})

export const chatCompletion = z.looseObject({
  id: z.string(),
  object: z.literal('chat.completion'),
  /** The backend that served the request; it can differ from the model of the request. */
  model: z.string(),
  choices: z.array(
    z.looseObject({
      index: z.int(),
      message: z.looseObject({ role: z.string(), content: z.string().nullish() }),
      finish_reason: z.string(),
    }),
  ),
  usage: chatUsage,
})

export const chatChunk = z.looseObject({
  id: z.string(),
  object: z.literal('chat.completion.chunk'),
  model: z.string(),
  /** Empty in the chunk that carries the usage. */
  choices: z.array(
    z.looseObject({
      index: z.int(),
      delta: z.looseObject({
        role: z.string().optional(),
        content: z.string().nullish(),
        /** The reasoning of a model that thinks first. */
        reasoning_content: z.string().nullish(),
      }),
      /** Null until the last chunk. */
      finish_reason: z.string().nullable(),
    }),
  ),
  /** Set when the request has `stream_options.include_usage`. */
  usage: chatUsage.nullish(),
})

export const embeddingList = z.looseObject({
  object: z.literal('list'),
  data: z.array(
    z.looseObject({
      object: z.literal('embedding'),
      /** The position of the input. */
      index: z.int(),
      /** 768 numbers of the `svc-` models, or the same as little-endian float32 in base64 where `encoding_format` says so. */
      embedding: z.union([z.array(z.number()), z.string()]),
    }),
  ),
  model: z.string(),
  usage: z.looseObject(promptUsage),
})

export const imageGeneration = z.looseObject({
  created: z.int(),
  /** A PNG. */
  data: z.array(z.looseObject({ b64_json: z.string() })).min(1),
  usage: z.looseObject({ input_tokens: z.int(), output_tokens: z.int(), total_tokens: z.int() }),
})
