/**
 * Clients of Anthropic's Messages API, seen from chat completions.
 */

import { messageOf } from './messages-to-chat/answer.ts'
import { writeChat, type Echo } from './messages-to-chat/request.ts'
import { MessagesEvents } from './messages-to-chat/stream.ts'
import { textOfMessage, writeMessagesUsage } from './messages-to-messages/answer.ts'
import type { ClientAdapter } from './via-chat.ts'

export const messagesAdapter: ClientAdapter<Echo> = {
  writeChat,
  names: {
    'messages.reasoning_content': 'thinking',
    parallel_tool_calls: 'tool_choice.disable_parallel_tool_use',
    reasoning_effort: 'thinking',
  },
  readCompletion: messageOf,
  textOf: textOfMessage,
  withUsage: (answer, usage) => ({ ...answer, usage: writeMessagesUsage(usage) }),
  openStream: (echo) => new MessagesEvents(echo),
}
