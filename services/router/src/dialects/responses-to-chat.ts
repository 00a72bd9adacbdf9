/**
 * OpenAI's Responses API in front of chat. The gateway keeps nothing: each request brings its whole conversation.
 *
 * The types of `openai` 7.55 (2026) define the members of a request and the order of events. Thoughts that a vendor has
 * encrypted stay with that vendor. A tool that a vendor would run is left out and reported.
 */

import type { ClientAdapter } from './via-chat.ts'
import { generatedTextOf, readCompletion, withUsage } from './responses-to-chat/response.ts'
import { writeChat, type Echo } from './responses-to-chat/request.ts'
import { ResponseEvents } from './responses-to-chat/stream.ts'

export const responsesToChat: ClientAdapter<Echo> = {
  writeChat,
  names: {
    'messages.reasoning_content': 'input.reasoning',
    reasoning_effort: 'reasoning.effort',
    response_format: 'text.format',
    max_completion_tokens: 'max_output_tokens',
    logprobs: 'include.message.output_text.logprobs',
  },
  readCompletion,
  textOf: generatedTextOf,
  withUsage,
  openStream: (echo, { identity }) => new ResponseEvents(echo, identity),
}
