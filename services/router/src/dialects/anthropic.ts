/**
 * Anthropic's Messages API. Requests are translated from OpenAI's chat completions, answers into them.
 *
 * Chat only. A parameter without a counterpart (`logprobs`, `seed`, penalties, `chat_template_kwargs`) is left out and told.
 * One whose loss would change the answer (more than one choice, audio) is refused.
 */

import { generatedTextOf, withUsage } from '../core/plain-answer.ts'
import { readMessage } from './anthropic/answer.ts'
import { writeMessagesRequest } from './anthropic/request.ts'
import { MessagesStream } from './anthropic/stream.ts'
import type { ChatDialect } from './dialect.ts'
import { messages } from './messages.ts'

export const anthropic: ChatDialect = {
  headers: messages.headers,
  request: (question) => ({ path: '/messages', ...writeMessagesRequest(question) }),
  readAnswer: (_, bytes, identity) => readMessage(bytes, identity),
  textOf: generatedTextOf,
  withUsage: ({ bytes, json }, usage, kind) => withUsage(bytes, json, usage, kind),
  readStream: ({ identity }) => new MessagesStream(identity),
  readErrorBody: messages.readErrorBody,
}
