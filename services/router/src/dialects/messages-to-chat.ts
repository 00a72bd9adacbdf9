/**
 * Clients of Anthropic's Messages API, seen from chat completions.
 */

import { messageOf } from './messages-to-chat/response.ts'
import { writeChat, type Echo } from './messages-to-chat/request.ts'
import { MessagesEvents } from './messages-to-chat/stream.ts'
import { textOfMessage, writeMessagesUsage } from './messages-to-messages/response.ts'
import type { ClientAdapter } from './via-chat.ts'

export const messagesToChat: ClientAdapter<Echo> = {
  writeChat,
  names: {
    'messages.reasoning_content': 'thinking',
    parallel_tool_calls: 'tool_choice.disable_parallel_tool_use',
    reasoning_effort: 'thinking',
  },
  readCompletion: messageOf,
  textOf: textOfMessage,
  withUsage: (response, usage) => ({ ...response, usage: writeMessagesUsage(usage) }),
  openStream: (echo, { identity }) => new MessagesEvents(echo, identity),
}
