/**
 * `POST /v1/messages`: parses a request of Anthropic's Messages API, and counts its tokens.
 *
 * Auto, estimates and affinity look at a view of the conversation as chat has it. The job carries the client's own object.
 */

import type { ChatMessage, ChatRequest } from '@gateway/contracts/chat'
import { countTokensRequest, messagesRequest, type CountTokensRequest } from '@gateway/contracts/messages'
import { chatNeeds } from '../core/chat-needs.ts'
import { compactionOfMessages } from '../core/compaction-bounds.ts'
import { estimateChat } from '../core/estimate-tokens.ts'
import { conversationKey } from './conversation-key.ts'
import { endUserOfUserId } from './end-user.ts'
import { hostedCallsIn, jobBody, parseBody, type InferenceKind } from './inference-kinds.ts'
import { sessionOfUserId } from './session.ts'

export const messages: InferenceKind = (body) => {
  const request = parseBody(messagesRequest, body)
  const view = viewOf(request)
  const { bytes, members, memberBytes } = jobBody(request, ['tools'])
  return {
    kind: 'chat',
    dialect: 'messages',
    model: request.model,
    needs: chatNeeds({ messages: view, tools: request.tools?.filter(isOwnTool) }),
    messages: view,
    stream: request.stream === true,
    // Its streams always state the usage.
    includeUsage: true,
    capsOutput: true,
    // Zero requests no output.
    outputCap: request.max_tokens || undefined,
    thinkingDisabled: request.thinking?.type === 'disabled',
    conversationKey: () => conversationKey(view),
    session: sessionOfUserId(request.metadata?.user_id),
    endUser: endUserOfUserId(request.metadata?.user_id),
    estimate: (lane, windowTokens) => ({
      ...estimateChat(asChat(request, view, request.max_tokens), undefined, windowTokens, memberBytes),
      compaction: compactionOfMessages(request, lane, request.max_tokens),
    }),
    hostedCalls: hostedCallsIn('messages', request),
    body: bytes,
    members,
  }
}

export interface PromptEstimate {
  model: string
  /** The usual count for a prompt of this size: a backend's own tokenizer decides when it is sent. */
  input_tokens: number
}

export function countTokens(body: unknown): PromptEstimate {
  const request = parseBody(countTokensRequest, body)
  const { usualPromptTokens } = estimateChat(asChat(request, viewOf(request), 1), undefined)
  return { model: request.model, input_tokens: usualPromptTokens }
}

function asChat(request: CountTokensRequest, view: ChatMessage[], maxTokens: number): ChatRequest {
  return {
    model: request.model,
    messages: view,
    max_tokens: maxTokens,
    // Counted by their JSON alone.
    tools: request.tools as ChatRequest['tools'],
    response_format: request.output_config?.format,
  }
}

type Tool = NonNullable<CountTokensRequest['tools']>[number]

/** Tools of a type of their own are the vendor's: a target that does not run them leaves them out. */
function isOwnTool({ type }: Tool): boolean {
  return type == null || type === 'custom'
}

type Block = Exclude<CountTokensRequest['messages'][number]['content'], string>[number]
type Part = Exclude<ChatMessage['content'], string | null | undefined>[number]

function viewOf({ system, messages: turns }: CountTokensRequest): ChatMessage[] {
  const view: ChatMessage[] = []
  if (system != null && system.length > 0) view.push({ role: 'system', content: contentOf(system) })
  for (const { role, content } of turns) {
    const results = typeof content === 'string' ? [] : content.filter(isResult)
    for (const { content: result } of results)
      view.push({ role: 'tool', content: contentOf(result as Block[] | string) })
    const words = results.length === 0 ? content : (content as Block[]).filter((block) => !isResult(block))
    if (words.length > 0) view.push({ role, content: contentOf(words) })
  }
  return view
}

function isResult({ type }: Block): boolean {
  return type === 'tool_result'
}

function contentOf(content: string | Block[] | undefined): string | Part[] {
  if (!Array.isArray(content)) return content ?? ''
  return content.map((block): Part => {
    if (block.type === 'image') return { type: 'image_url', image_url: { url: '' } }
    return block.type === 'text' && block.text != null ? { type: 'text', text: block.text } : block
  })
}
