/**
 * The APIs for conversations: chat completions, and those that a backend speaks beside it. One request has one response in
 * all of them, and each writes it in its own wire format.
 */

import type { ChatResponse } from './chat.ts'
import { type ChatRequest, readChatRequest } from './chat-request.ts'
import { type ChatStamp, writeChatBody, writeChatEvents } from './chat-wire.ts'
import type { Fault } from './faults.ts'
import { readMessagesRequest, writeMessagesBody, writeMessagesEvents } from './messages-wire.ts'
import type { JsonObject } from './refusal.ts'
import { readResponsesRequest } from './responses-request.ts'
import { writeResponsesBody, writeResponsesEvents } from './responses-wire.ts'

/** `older-responses`: without the members that the Responses API has got since 2025. */
export type OtherDialect = 'messages' | 'responses' | 'older-responses'

const MESSAGES_PATH = '/v1/messages'
const RESPONSES_PATH = '/v1/responses'
const COMPACT_PATH = '/v1/responses/compact'
const PATHS_OF: Record<OtherDialect, readonly string[]> = {
  messages: [MESSAGES_PATH],
  responses: [RESPONSES_PATH, COMPACT_PATH],
  'older-responses': [RESPONSES_PATH, COMPACT_PATH],
}

export function isSpoken(path: string, dialects: readonly OtherDialect[]): boolean {
  return dialects.some((dialect) => PATHS_OF[dialect].includes(path))
}

export function isCompaction(path: string): boolean {
  return path === COMPACT_PATH
}

export function readConversation(path: string, body: JsonObject): ChatRequest {
  if (path === MESSAGES_PATH) return readMessagesRequest(body)
  return path === RESPONSES_PATH ? readResponsesRequest(body) : readChatRequest(body)
}

interface Written {
  request: ChatRequest
  body: JsonObject
  stamp: ChatStamp
  fault: Fault
  dialects: readonly OtherDialect[]
}

/** The events of a stream, or the one JSON text. */
export function writeConversation(path: string, reply: ChatResponse, written: Written): string[] {
  const { request, body, stamp, fault, dialects } = written
  const { stream, includeUsage } = request
  const named = (prefix: string) => ({ ...stamp, id: stamp.id.replace('chatcmpl-', prefix) })
  if (path === MESSAGES_PATH) {
    const own = named('msg_')
    return stream ? writeMessagesEvents(reply, own) : [writeMessagesBody(reply, own)]
  }
  if (path === RESPONSES_PATH) {
    const shape = { usage: !fault.noUsage, isOlder: dialects.includes('older-responses') }
    const own = named('resp_')
    return stream ? writeResponsesEvents(reply, body, own, shape) : [writeResponsesBody(reply, body, own, shape)]
  }
  const finishReason = !fault.noFinishReason
  const place = fault.noUsage ? 'none' : fault.usageWithFinish ? 'with_finish' : includeUsage ? 'own' : 'none'
  return stream
    ? writeChatEvents(reply, stamp, { usage: place, finishReason, done: !fault.noDone })
    : [writeChatBody(reply, stamp, { usage: !fault.noUsage, finishReason })]
}
