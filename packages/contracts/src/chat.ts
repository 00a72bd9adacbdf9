/**
 * Requests to the inference endpoints, as the OpenAI convention has them. The schema checks only the fields that the
 * gateway reads; all others reach the backend untouched.
 */

import * as z from 'zod'

export const DEFAULT_CHAT_MODEL = 'svc-chat-md'
export const DEFAULT_IMAGE_MODEL = 'svc-image'
const DEFAULT_IMAGE_SIZE = '1024x1024'

/** A rule that JSON Schema has no shorter words for; the parser has the same rule as a refinement. */
const requiredWhere = (field: string, is: string, required: string) => ({
  anyOf: [
    { properties: { [field]: { not: { const: is } } } },
    { required: [required], properties: { [required]: { not: { type: 'null' } } } },
  ],
})

/** The parts that the gateway reads are `text` and `image_url`; parts of other kinds are the backend's to judge. */
const contentPart = z
  .looseObject({
    type: z.string(),
    text: z.string().nullish(),
    image_url: z.looseObject({ url: z.string(), detail: z.string().nullish() }).nullish(),
  })
  .superRefine((part, context) => {
    const named = part.type === 'text' || part.type === 'image_url' ? part.type : null
    if (named && part[named] == null) {
      context.addIssue({ code: 'custom', path: [named], message: 'is required' })
    }
  })
  .meta({ allOf: [requiredWhere('type', 'text', 'text'), requiredWhere('type', 'image_url', 'image_url')] })

const chatMessage = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
  content: z.union([z.string(), z.array(contentPart).min(1)]).nullish(),
})

/** Only an assistant's message may be without content: it has called tools instead. */
const messageInRequest = chatMessage.meta({
  anyOf: [
    { properties: { role: { const: 'assistant' } } },
    { required: ['content'], properties: { content: { not: { type: 'null' } } } },
  ],
})

/** Keeps a charge a safe integer; no model comes near it. */
export const LARGEST_CAP_TOKENS = 10_000_000
export const tokenCap = z.int().min(1).max(LARGEST_CAP_TOKENS).nullish()

/**
 * More than any conversation of an agent has. A longer list costs the event loop and the translation of each element, and
 * no model's window holds it.
 */
export const MOST_MESSAGES = 20_000
export const MOST_TOOLS = 2_048

const MOST_METADATA = 16

/** OpenAI's bounds. */
export const requestMetadata = z
  .record(z.string().max(64), z.string().max(512))
  .refine((pairs) => Object.keys(pairs).length <= MOST_METADATA, `must have at most ${MOST_METADATA} pairs`)

/** A list of a request with a bound that the refusal names. */
export function boundedList<Element extends z.ZodType>(element: Element, most: number): z.ZodArray<Element> {
  return z.array(element).max(most, tooMany(most))
}

export function tooMany(most: number): string {
  return `must have at most ${most} elements`
}

export const chatRequest = z
  .looseObject({
    model: z.string().min(1).default(DEFAULT_CHAT_MODEL),
    messages: boundedList(messageInRequest, MOST_MESSAGES).min(1),
    max_tokens: tokenCap,
    max_completion_tokens: tokenCap,
    stream: z.boolean().nullish(),
    stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
    n: z.int().min(1).max(128).nullish(),
    temperature: z.number().min(0).max(2).nullish(),
    top_p: z.number().min(0).max(1).nullish(),
    stop: z.union([z.string(), z.array(z.string()).max(16)]).nullish(),
    tools: boundedList(z.looseObject({ type: z.string() }), MOST_TOOLS).nullish(),
    metadata: requestMetadata.nullish(),
    chat_template_kwargs: z.looseObject({ enable_thinking: z.boolean().nullish() }).nullish(),
  })
  .superRefine((request, context) => {
    request.messages.forEach((message, index) => {
      const mayBeEmpty = message.role === 'assistant'
      if (message.content == null && !mayBeEmpty) {
        context.addIssue({ code: 'custom', path: ['messages', index, 'content'], message: 'is required' })
      }
    })
  })

export type ChatRequest = z.infer<typeof chatRequest>
export type ChatMessage = z.infer<typeof chatMessage>

/** The last token of cl100k_base, the tokenizer of OpenAI's embedding models: clients such as LangChain send tokens. */
const LAST_TOKEN = 100_255
/** OpenAI's limit for all inputs together. A token may stand for 128 bytes, so the texts of many fill a router's memory. */
const MOST_TOKENS = 300_000
const tokens = z.array(z.int().min(0).max(LAST_TOKEN)).min(1).max(MOST_TOKENS)
const MOST_INPUTS = 2_048
const tokensOfTexts = z
  .array(tokens)
  .min(1)
  .max(MOST_INPUTS)
  .refine((inputs) => inputs.reduce((sum, { length }) => sum + length, 0) <= MOST_TOKENS, {
    error: `must have at most ${MOST_TOKENS} tokens in all`,
  })

export const embeddingsRequest = z.looseObject({
  model: z.string().min(1),
  /** A text, several texts, the tokens of one text, or those of several. */
  input: z.union(
    [z.string().min(1), z.array(z.string().min(1)).min(1).max(MOST_INPUTS), tokens, tokensOfTexts],
    `must be a text or up to ${MOST_INPUTS} of them, none empty, or their tokens by cl100k_base`,
  ),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  /** Which ones a model has: `dimensions` and `minDimensions` in the config. */
  dimensions: z.int().min(1).nullish(),
})

export type EmbeddingsRequest = z.infer<typeof embeddingsRequest>

export const imagesRequest = z.looseObject({
  model: z.string().min(1).default(DEFAULT_IMAGE_MODEL),
  prompt: z.string().min(1).max(32_000),
  size: z
    .string()
    .regex(/^[1-9]\d{1,3}x[1-9]\d{1,3}$/, 'must be <width>x<height>, for example 1024x1024')
    .nullable()
    .default(DEFAULT_IMAGE_SIZE)
    .transform((size) => size ?? DEFAULT_IMAGE_SIZE),
  n: z.int().min(1).max(10).nullish(),
  // The response is always a JSON object with PNGs in base64. The gateway refuses an option that it does not support.
  response_format: z
    .literal('b64_json', 'must be b64_json or left out: the gateway keeps no pictures, so it has no address to answer')
    .nullish(),
  output_format: z.literal('png', 'must be png').nullish(),
  stream: z.literal(false, 'must be false: images are not streamed').nullish(),
  partial_images: z.literal(0, 'must be 0: images are not streamed').nullish(),
})

export type ImagesRequest = z.infer<typeof imagesRequest>
