/**
 * Token counts before a backend has counted. A bound that is never too low serves reservations of allowance; a usual figure
 * serves the tokens-per-minute bucket. The backend's own count replaces both when the request ends.
 *
 * Byte-level tokenizers emit at most one token per UTF-8 byte, so bytes bound a text's tokens. An image is charged by its
 * tiles, not by the bytes of its encoding, hence the fixed figures. A document or a video may hold any number of pages or
 * frames, wherever it stands. Only the model's context window bounds its tokens, as it bounds many images.
 */

import {
  LARGEST_CAP_TOKENS,
  type ChatMessage,
  type ChatRequest,
  type EmbeddingsRequest,
  type ImagesRequest,
} from '@gateway/contracts/chat'
import { plainNumber } from '@gateway/contracts/json'
import type { MemberBytes } from './write-body.ts'
import longTokens from './long-tokens.json' with { type: 'json' }

/**
 * Chat templates add a system prompt of their own, instructions for tools, and marks around each message. This is the most
 * that any of the 66 templates in llama.cpp's source adds (2026-11), and some more, for tokenizers differ.
 */
const MOST_AROUND_REQUEST = 1_500
const MOST_AROUND_MESSAGE = 20
const USUAL_AROUND_MESSAGE = 8
const TOKENS_AROUND_INPUT = 8
/**
 * gpt-4o-mini's count of an image at full detail: 2,833, and 5,667 for each of eight tiles (measured: community.openai.com,
 * topic 1262691, 2025). Qwen's vision models count 16,384 at most.
 */
const MOST_TOKENS_OF_IMAGE = 48_169
const USUAL_TOKENS_OF_IMAGE = 3_000
/** A sound within the request: no byte of it holds more than a token. */
const SOUND = 'input_audio'
const SOUNDS = new Set([SOUND, 'audio', 'audio_url'])
/** The parts that backends fetch or unpack: of the three dialects, and of vLLM and SGLang. */
const UNREAD = new Set([
  ...['file', 'input_file', 'document', 'container_upload'],
  ...['video', 'video_url', 'input_video', 'audio', 'audio_url', SOUND],
])
/** The usual tokens of each piece of such a part; a page of a PDF has about as many. */
const USUAL_TOKENS_OF_PIECE = 3_000
const PIECE_BYTES = 200_000
/** The longest prompts of vendors' models, for targets whose window the config does not state. */
export const LARGEST_WINDOW_TOKENS = 2_000_000
/** Four bytes a token is the rule of thumb for English. The backend's own count corrects the error at the end. */
const USUAL_BYTES_PER_TOKEN = 4
/** The text of a token of cl100k_base, but for the few that `long-tokens.json` lists with their bytes. */
const MOST_BYTES_PER_TOKEN = 16
const LONG_TOKENS = new Map(Object.entries(longTokens).map(([token, bytes]) => [Number(token), bytes]))
/** Templates write these members into the prompt, beside the messages. */
export const IN_PROMPT = [
  ...['tools', 'functions', 'response_format'],
  // Of SGLang: the prompt itself, in tokens.
  'input_ids',
  // Of vLLM and llama.cpp.
  ...['documents', 'chat_template', 'chat_template_kwargs', 'json_schema'],
] as const
/** With these, of vLLM and SGLang, a prompt may become longer than anything in the request: only the window bounds it. */
const UNBOUND = ['chat_template', 'mm_processor_kwargs'] as const
/**
 * Of a response that the client expects. OpenAI counts its tokens that the response does not have as output, beside the cap
 * (`rejected_prediction_tokens` in the types of `openai` 7.57, 2026).
 */
const PREDICTION = 'prediction'
/** The largest `n` that a request may have. */
const MOST_CHOICES = 128
/** The usual output of a response, in a lane that allows more. */
const USUAL_OUTPUT_TOKENS = 500
/** The bound where neither the request nor the lane sets one. */
export const DEFAULT_MAX_OUTPUT_TOKENS = 16_384
/** One image of 1024x1024 at the highest quality of the common scale, per picture. */
const IMAGE_OUTPUT_TOKENS = 6_240

export interface TokenEstimate {
  /** Bounds from above. */
  maxPromptTokens: number
  maxOutputTokens: number
  /** Set where the vendor may compact the conversation within the request. */
  compaction?: CompactionBounds | undefined
  /** Some of the tokens may be of sound: in a part that only the backend reads, or in the response. */
  mayHoldSound?: boolean
  /** Where the prompt holds sound: the usual tokens of all else in it. */
  usualTokensBesideSound?: number
  /** The usual tokens of a prompt of this size. */
  usualPromptTokens: number
  /** The usual tokens of such a request, prompt and response together. */
  usualTokens: number
}

export interface CompactionBounds {
  /** A shorter prompt is not compacted. */
  fromTokens: number
  /** The client's instructions for the summary. */
  promptTokens: number
  summaryTokens: number
}

/** `windowTokens`: the most tokens that a prompt can have on the lane. `memberBytes`: lengths that a caller knows already. */
export function estimateChat(
  request: ChatRequest,
  laneMaxOutputTokens: number | undefined,
  windowTokens = LARGEST_WINDOW_TOKENS,
  memberBytes: MemberBytes = {},
): TokenEstimate {
  let textBytes = 0
  let images = 0
  let unreadPieces = 0
  let piecesOfSound = 0
  let mostUnread = 0
  for (const message of request.messages) {
    const { content } = message
    if (typeof content === 'string') textBytes += Buffer.byteLength(content)
    else {
      for (const part of content ?? []) {
        if (part.type === 'image_url') images++
        else if (isUnread(part)) {
          const bytes = jsonBytes(part)
          const pieces = Math.ceil(bytes / PIECE_BYTES)
          unreadPieces += pieces
          if (SOUNDS.has(part.type)) piecesOfSound += pieces
          mostUnread += part.type === SOUND ? bytes : windowTokens
        } else textBytes += textBytesOf(part)
      }
    }
    textBytes += besideContent(message)
  }
  for (const field of IN_PROMPT) textBytes += bytesWritten(memberBytes[field]) ?? jsonBytes(request[field])
  if (UNBOUND.some((field) => request[field] != null)) mostUnread += windowTokens
  const messages = request.messages.length
  const choices = choicesOf(request)
  const mostOfChoice = mostOutputTokens(request, laneMaxOutputTokens ?? DEFAULT_MAX_OUTPUT_TOKENS)
  const maxOutputTokens = (mostOfChoice + jsonBytes(request[PREDICTION])) * choices
  const mostReadTokens = textBytes + MOST_AROUND_REQUEST + messages * MOST_AROUND_MESSAGE
  const mostBeside = images * MOST_TOKENS_OF_IMAGE + mostUnread
  const usualBeside = images * USUAL_TOKENS_OF_IMAGE + unreadPieces * USUAL_TOKENS_OF_PIECE
  const usualPromptTokens = Math.ceil(textBytes / USUAL_BYTES_PER_TOKEN) + messages * USUAL_AROUND_MESSAGE + usualBeside
  return {
    maxPromptTokens: Math.max(mostReadTokens, Math.min(windowTokens, mostReadTokens + mostBeside)),
    maxOutputTokens,
    mayHoldSound: unreadPieces > 0 || request['audio'] != null || request['modalities'] != null,
    ...(piecesOfSound > 0 && {
      usualTokensBesideSound: Math.max(0, usualPromptTokens - piecesOfSound * USUAL_TOKENS_OF_PIECE),
    }),
    usualPromptTokens,
    usualTokens: usualPromptTokens + Math.min(maxOutputTokens, USUAL_OUTPUT_TOKENS * choices),
  }
}

/** Most messages hold nothing else. */
function besideContent(message: ChatMessage): number {
  for (const name in message) {
    if (name === 'role' || name === 'content') continue
    const { role: _role, content: _content, ...rest } = message
    return jsonBytes(rest)
  }
  return 0
}

/** A document of the Messages API may be a text as any other. Parts of other types have no source. */
function isUnread({ type, source }: { type: string; source?: unknown }): boolean {
  const isText = typeof source === 'object' && source !== null && 'type' in source && source.type === 'text'
  return UNREAD.has(type) && !(isText && type === 'document')
}

/** Of a part of another type, a backend may read any member. */
function textBytesOf(part: { type: string; text?: unknown }): number {
  return part.type === 'text' && typeof part.text === 'string' ? Buffer.byteLength(part.text) : jsonBytes(part)
}

/** llama.cpp knows another name of `n`, too. */
function choicesOf({ n, n_cmpl }: ChatRequest): number {
  const ofLlamaCpp = plainNumber(n_cmpl)
  const more = typeof ofLlamaCpp === 'number' && ofLlamaCpp > 1 ? Math.ceil(ofLlamaCpp) : 1
  return Math.max(n ?? 1, Math.min(MOST_CHOICES, more))
}

/** A backend knows some of the names of the cap, and the request may give each another value. */
function mostOutputTokens(request: ChatRequest, uncapped: number): number {
  const { max_tokens: older, max_completion_tokens: newer } = request
  const ofLlamaCpp = plainNumber(request.n_predict)
  const cap = older == null && newer == null ? uncapped : Math.max(older ?? 0, newer ?? 0)
  if (typeof ofLlamaCpp !== 'number') return cap
  // Below zero it lifts the cap.
  const isLifted = ofLlamaCpp < 0 || ofLlamaCpp > LARGEST_CAP_TOKENS
  return Math.max(cap, isLifted ? LARGEST_CAP_TOKENS : Math.ceil(ofLlamaCpp))
}

export function estimateEmbeddings(request: EmbeddingsRequest): TokenEstimate {
  const inputs = inputsOf(request)
  const sumOf = (tokens: (input: Input) => number) => inputs.reduce((sum, input) => sum + tokens(input), 0)
  const usualPromptTokens = sumOf(usualTokensOf) + inputs.length
  return {
    maxPromptTokens: sumOf(mostBytesOf) + inputs.length * TOKENS_AROUND_INPUT,
    maxOutputTokens: 0,
    usualPromptTokens,
    usualTokens: usualPromptTokens,
  }
}

type Input = string | readonly number[]

function inputsOf({ input }: EmbeddingsRequest): readonly Input[] {
  if (typeof input === 'string' || typeof input[0] === 'number') return [input as Input]
  return input as readonly Input[]
}

function usualTokensOf(input: Input): number {
  return typeof input === 'string' ? Math.ceil(Buffer.byteLength(input) / USUAL_BYTES_PER_TOKEN) : input.length
}

/** Tokens are sent on as their text, which the backend's own tokenizer cuts again. */
function mostBytesOf(input: Input): number {
  if (typeof input === 'string') return Buffer.byteLength(input)
  return input.reduce((sum, token) => sum + (LONG_TOKENS.get(token) ?? MOST_BYTES_PER_TOKEN), 0)
}

export function estimateImages(request: ImagesRequest): TokenEstimate {
  const bytes = Buffer.byteLength(request.prompt)
  const [width = 1024, height = 1024] = request.size.split('x').map(Number)
  const pictures = request.n ?? 1
  const maxOutputTokens = Math.ceil((IMAGE_OUTPUT_TOKENS * width * height) / (1024 * 1024)) * pictures
  const usualPromptTokens = Math.ceil(bytes / USUAL_BYTES_PER_TOKEN)
  return {
    maxPromptTokens: bytes + TOKENS_AROUND_INPUT,
    maxOutputTokens,
    usualPromptTokens,
    usualTokens: usualPromptTokens + maxOutputTokens,
  }
}

/** Returns undefined for a member that may be an empty object or a null: neither counts. */
function bytesWritten(bytes: number | undefined): number | undefined {
  return bytes !== undefined && bytes > 'null'.length ? bytes : undefined
}

function jsonBytes(value: unknown): number {
  if (value === undefined || value === null) return 0
  const text = JSON.stringify(value)
  return text === '{}' ? 0 : Buffer.byteLength(text)
}
