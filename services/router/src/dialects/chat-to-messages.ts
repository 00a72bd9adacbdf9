/**
 * Anthropic's Messages API. It translates requests from OpenAI's chat completions, and responses into them.
 *
 * Chat only. A parameter without a counterpart (`logprobs`, `seed`, penalties, `chat_template_kwargs`) is left out and
 * reported. One whose loss would change the response (more than one choice, audio) is refused.
 */

import { generatedTextOf, withUsage } from '../core/plain-response.ts'
import { readMessage } from './chat-to-messages/response.ts'
import type { JsonBy } from './chat-to-messages/json-text.ts'
import { writeMessagesRequest, type Echo } from './chat-to-messages/request.ts'
import { MessagesStream } from './chat-to-messages/stream.ts'
import type { ChatDialect } from './dialect.ts'
import { messagesToMessages } from './messages-to-messages.ts'

export const chatToMessages: ChatDialect = {
  headers: messagesToMessages.headers,
  request: (clientRequest) => ({ path: '/messages', ...writeMessagesRequest(clientRequest) }),
  readBackendResponse: (_, bytes, identity, echo) => readMessage(bytes, identity, jsonBy(echo)),
  textOf: generatedTextOf,
  withUsage: ({ bytes, json }, usage, kind) => withUsage(bytes, json, usage, kind),
  readStream: ({ identity, echo }) => new MessagesStream(identity, jsonBy(echo)),
  readErrorBody: messagesToMessages.readErrorBody,
}

/** Null where the request wants none, or the model has a parameter for it. */
function jsonBy(echo: unknown): JsonBy | null {
  return (echo as Echo | undefined)?.json ?? null
}
