/**
 * `POST /v1/responses`. The job's body is the client's own, but says `store: false`. Admission and Auto see the request as a
 * chat: they count its texts, pictures and tools.
 */

import type { ChatMessage, ChatRequest } from '@gateway/contracts/chat'
import {
  endsInTrigger,
  MOST_COMPACTION_PROMPT_BYTES,
  responsesRequest,
  type CompactRequest,
  type ResponsesItem,
  type ResponsesRequest,
} from '@gateway/contracts/responses'
import type { CompactionForm } from '@gateway/contracts/usage-event'
import { chatNeeds } from '../core/chat-needs.ts'
import { compactionOfResponses } from '../core/compaction-bounds.ts'
import { estimateChat } from '../core/estimate-tokens.ts'
import { writeBody, type WrittenBody } from '../core/write-body.ts'
import { conversationKey } from './conversation-key.ts'
import { endUserOf } from './end-user.ts'
import { hostedCallsIn, parseBody, withModel, type InferenceKind, type InferenceRequest } from './inference-kinds.ts'
import { sessionOfCacheKey } from './session.ts'
import { tagsInMetadata } from './tags.ts'

export const responses: InferenceKind = (body, models) => {
  const request = parseBody(responsesRequest, withModel(body, models, 'chat'))
  const compaction = endsInTrigger(request.input) ? 'trigger' : undefined
  return { ...inferenceOf(request, jobBody(request), compaction), stream: request.stream === true }
}

type ReadRequest = ResponsesRequest | CompactRequest

export function inferenceOf(
  request: ReadRequest,
  { bytes, members, memberBytes }: WrittenBody,
  compaction: CompactionForm | undefined,
): Omit<InferenceRequest, 'stream'> {
  const view = chatView(request)
  const counted = compaction === undefined ? view : { ...view, messages: [...view.messages, PROMPT_OF_COMPACTION] }
  const outputCap = request.max_output_tokens ?? undefined
  return {
    kind: 'chat',
    dialect: 'responses',
    compaction,
    model: request.model,
    needs: chatNeeds({ ...view, tools: view.tools?.filter(({ type }) => OWN_TOOLS.has(type)) }),
    messages: view.messages,
    includeUsage: true,
    capsOutput: outputCap !== undefined,
    outputCap,
    thinkingDisabled: request.reasoning?.effort === 'none',
    conversationKey: () => conversationKey(view.messages),
    session: sessionOfCacheKey(request.prompt_cache_key),
    tags: tagsInMetadata(request.metadata),
    endUser: endUserOf(request),
    estimate: (lane, windowTokens) => ({
      ...estimateChat(counted, lane.maxOutputTokens, windowTokens, memberBytes),
      compaction: compactionOfResponses(request, lane, outputCap),
    }),
    hostedCalls: hostedCallsIn('responses', request),
    body: bytes,
    members,
  }
}

/** The others are a vendor's: a target that does not run them leaves them out. */
const OWN_TOOLS = new Set(['function', 'custom', 'namespace'])

function jobBody({ model: _model, stream: _stream, ...rest }: ResponsesRequest): WrittenBody {
  // The router writes the lane's cap in front, and servers take the last of two.
  if (rest.max_output_tokens === null) delete rest.max_output_tokens
  return writeBody({ ...rest, store: false }, ['tools'])
}

function chatView({ model, input, instructions, tools, text, max_output_tokens: cap }: ReadRequest): ChatRequest {
  const items = typeof input === 'string' ? [{ role: 'user' as const, content: input }] : input.map(messageOf)
  const system = instructions ? [{ role: 'system' as const, content: instructions }] : []
  return { model, messages: [...system, ...items], tools, response_format: text?.format, max_completion_tokens: cap }
}

/** Stands for the router's own words, which count as a part of the prompt. */
const PROMPT_OF_COMPACTION = { role: 'user' as const, content: ' '.repeat(MOST_COMPACTION_PROMPT_BYTES) }

const RESULTS = new Set<unknown>(['function_call_output', 'custom_tool_call_output'])

/** Results are a tool's; thoughts, calls and items of a vendor's tools are the model's. */
function messageOf(item: ResponsesItem): ChatMessage {
  if (RESULTS.has(item.type)) return { role: 'tool', content: contentOf(item.output) }
  const { role, content, ...rest } = item
  if (role == null || content == null) return { role: 'assistant', content: null, item }
  const message = { role, content: contentOf(content) }
  // An item of another type may hold more, beside the members of a message.
  return (item.type ?? MESSAGE) === MESSAGE ? message : { ...message, item: rest }
}

const MESSAGE = 'message'
/** Their readers read the text alone. */
const TEXTS = new Set(['input_text', 'output_text', 'text'])

interface Part {
  type: string
  text?: string | null
  image_url?: string | null
}

function contentOf(content: unknown): ChatMessage['content'] {
  if (typeof content === 'string') return content
  return (content as Part[]).map((part) => {
    if (part.type === 'input_image') return { type: 'image_url', image_url: { url: part.image_url ?? '' } }
    return part.text != null && TEXTS.has(part.type)
      ? { type: 'text', text: part.text }
      : { ...part, image_url: undefined }
  })
}
