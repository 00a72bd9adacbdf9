/**
 * The differences between chat, embeddings and images before a job is dispatched: one entry a kind. Each parses a body with
 * the contract's schema, and derives the values that admission and the router read.
 */

import type { z } from 'zod'
import { chatRequest, embeddingsRequest, imagesRequest, type ChatMessage } from '@gateway/contracts/chat'
import { DEFAULT_DIMENSIONS, type ModelConfig, type ServedModelConfig } from '@gateway/contracts/config'
import { defaultModelId, type KindWithDefault } from '@gateway/contracts/models'
import { asksHostedTools, hostedCallsOf } from '@gateway/contracts/hosted-requests'
import type { HostedCalls } from '@gateway/contracts/hosted-tools'
import { GatewayError } from '@gateway/contracts/errors'
import { ExactNumber } from '@gateway/contracts/json'
import type { Capability, JobKind } from '@gateway/contracts/job'
import type { CompactionForm } from '@gateway/contracts/usage-event'
import type { ClientDialect } from '@gateway/contracts/vendors'
import type { AnthropicHeaders } from '../core/anthropic-headers.ts'
import type { OutputRequest } from '../core/response-headers.ts'
import { chatNeeds } from '../core/chat-needs.ts'
import {
  estimateChat,
  estimateEmbeddings,
  estimateImages,
  IN_PROMPT,
  type TokenEstimate,
} from '../core/estimate-tokens.ts'
import { type BodyMember, writeBody, type WrittenBody } from '../core/write-body.ts'
import { conversationKey } from './conversation-key.ts'
import { endUserOf } from './end-user.ts'
import { sessionOfCacheKey, type Session } from './session.ts'
import { type Tags, tagsInMetadata } from './tags.ts'

/** A parsed request, in the terms that the rest of the journey uses. */
export interface InferenceRequest extends OutputRequest, AnthropicHeaders {
  kind: JobKind
  /** The client's dialect. */
  dialect: ClientDialect
  model: string
  needs: Capability[]
  /** The input of Auto; empty for kinds without a conversation. */
  messages: ChatMessage[]
  stream: boolean
  includeUsage: boolean
  encodingFormat?: 'float' | 'base64'
  /** responses: the conversation is to be compacted. */
  compaction?: CompactionForm | undefined
  /** embeddings: the length of the vectors. Throws where the model has none of the requested length. */
  vectorsOf?(model: ModelConfig): { dimensions: number; isShortened: boolean }
  /** False: the lane's own cap is written into the body. */
  capsOutput: boolean
  /** The same for all turns of a conversation: where the client names no session, it stands for one. */
  conversationKey?(): string
  session?: Session | undefined
  tags?: Tags | undefined
  /** As the client names its user. It leaves the edge as a hash alone, except in the client's own body. */
  endUser?: string | undefined
  /** `windowTokens`: the most that a prompt can have on the lane. */
  estimate(lane: ServedModelConfig, windowTokens?: number): TokenEstimate
  /** Set where a vendor runs tools for the request: the calls of them that the lane allows. */
  hostedCalls?: ((lane: ServedModelConfig) => HostedCalls) | undefined
  body: Uint8Array
  /** chat: those of the body, which its target gets in one order. */
  members?: readonly BodyMember[]
}

export function hostedCallsIn(
  dialect: ClientDialect,
  request: Record<string, unknown>,
): InferenceRequest['hostedCalls'] {
  if (!asksHostedTools(dialect, request)) return undefined
  return ({ hostedTools, maxToolCalls }) => hostedCallsOf(dialect, request, hostedTools, maxToolCalls)
}

/** `models`: those of the config, for requests that name none. */
export type InferenceKind = (body: unknown, models: readonly ModelConfig[]) => InferenceRequest

export const chat: InferenceKind = (body, models) => {
  const request = parseBody(chatRequest, withModel(body, models, 'chat'))
  const outputCap = request.max_completion_tokens ?? request.max_tokens ?? undefined
  const { bytes, members, memberBytes } = jobBody(request, IN_PROMPT)
  return {
    kind: 'chat',
    dialect: 'chat',
    model: request.model,
    needs: chatNeeds(request),
    messages: request.messages,
    stream: request.stream === true,
    includeUsage: request.stream_options?.include_usage === true,
    capsOutput: outputCap !== undefined,
    outputCap,
    thinkingDisabled: request.chat_template_kwargs?.['enable_thinking'] === false,
    conversationKey: () => conversationKey(request.messages),
    session: sessionOfCacheKey(request['prompt_cache_key']),
    tags: tagsInMetadata(request.metadata),
    endUser: endUserOf(request),
    estimate: (lane, windowTokens) => estimateChat(request, lane.maxOutputTokens, windowTokens, memberBytes),
    hostedCalls: hostedCallsIn('chat', request),
    body: bytes,
    members,
  }
}

export const embeddings: InferenceKind = (body) => {
  const request = parseBody(embeddingsRequest, body)
  return {
    kind: 'embeddings',
    dialect: 'chat',
    model: request.model,
    needs: ['embeddings'],
    messages: [],
    stream: false,
    includeUsage: false,
    encodingFormat: request.encoding_format ?? 'float',
    vectorsOf: (model) => vectorsOf(model, request.dimensions),
    endUser: endUserOf(request),
    capsOutput: true,
    estimate: () => estimateEmbeddings(request),
    body: jobBody(request).bytes,
  }
}

export const images: InferenceKind = (body, models) => {
  const request = parseBody(imagesRequest, withModel(body, models, 'images'))
  return {
    kind: 'images',
    dialect: 'chat',
    model: request.model,
    needs: ['images'],
    messages: [],
    stream: false,
    includeUsage: false,
    endUser: endUserOf(request),
    capsOutput: true,
    estimate: () => estimateImages(request),
    body: jobBody(request).bytes,
  }
}

/**
 * The client's object without the members that the router writes itself (see `contracts/src/job.ts`). A null says nothing,
 * and some servers refuse it (SGLang 0.5.23), so it is left out, too.
 */
export function jobBody(request: Record<string, unknown>, measured: readonly string[] = []): WrittenBody {
  const { model: _model, stream: _stream, stream_options: _options, encoding_format: _format, ...rest } = request
  const said = Object.entries(rest).filter(([, value]) => value !== null)
  return writeBody(Object.fromEntries(said), measured)
}

export function withModel(body: unknown, models: readonly ModelConfig[], kind: KindWithDefault): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body) || 'model' in body) return body
  return { ...body, model: defaultModelId(models, kind) }
}

function vectorsOf(model: ModelConfig, requested: number | null | undefined) {
  const { dimensions = DEFAULT_DIMENSIONS, minDimensions = dimensions } = model.type === 'auto' ? {} : model
  const length = requested ?? dimensions
  if (length >= minDimensions && length <= dimensions) return { dimensions: length, isShortened: length < dimensions }
  const range = minDimensions === dimensions ? `${dimensions}` : `from ${minDimensions} to ${dimensions}`
  throw new GatewayError('VALIDATION_ERROR', `dimensions: must be ${range} for ${model.id}`, { param: 'dimensions' })
}

/** The first message that fails decides: its path names the field as the client wrote it. */
export function parseBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.infer<Schema> {
  const first = schema.safeParse(body)
  const parsed = first.success || !makeNumbersPlain(body, first.error.issues) ? first : schema.safeParse(body)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const field = issue?.path.reduce<string>(
    (path, step) => (typeof step === 'number' ? `${path}[${step}]` : path ? `${path}.${String(step)}` : String(step)),
    '',
  )
  const message = `${field || 'body'}: ${issue?.message ?? 'is not valid'}`
  throw new GatewayError('VALIDATION_ERROR', message, field ? { param: field } : {})
}

/** A member that the schema reads is a number, in each notation. False where none was in the way. */
function makeNumbersPlain(body: unknown, issues: readonly z.core.$ZodIssue[]): boolean {
  return issues.map(({ path }) => makePlainAt(body, path)).includes(true)
}

function makePlainAt(body: unknown, path: readonly PropertyKey[]): boolean {
  const [step, ...rest] = path
  if (step === undefined || typeof body !== 'object' || body === null) return false
  const owner = body as Record<PropertyKey, unknown>
  if (!Object.hasOwn(owner, step)) return false
  const value = owner[step]
  if (value instanceof ExactNumber) owner[step] = value.valueOf()
  else if (rest.length > 0) return makePlainAt(value, rest)
  else if (Array.isArray(value)) return value.map((_, index) => makePlainAt(value, [index])).includes(true)
  else return false
  return true
}
