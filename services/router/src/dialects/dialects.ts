/** How a client of each dialect is served by a backend of each: one translation a pair. */

import type { ClientDialect, TargetDialect } from '@gateway/contracts/vendors'
import { anthropic } from './chat-to-messages.ts'
import { chatToResponses } from './chat-to-responses.ts'
import type { Dialect } from './dialect.ts'
import { messagesAdapter } from './messages-to-chat.ts'
import { messages } from './messages-to-messages.ts'
import { openai } from './chat-to-chat.ts'
import { viaChat } from './via-chat.ts'
import { responses } from './responses-to-responses.ts'
import { responsesAdapter } from './responses-to-chat.ts'

/** By the client's dialect, then by the backend's. */
const pairs: Record<ClientDialect, Record<TargetDialect, Dialect>> = {
  chat: { chat: openai, responses: chatToResponses, messages: anthropic },
  responses: {
    chat: viaChat(responsesAdapter, openai),
    responses,
    messages: viaChat(responsesAdapter, anthropic),
  },
  messages: { chat: viaChat(messagesAdapter, openai), responses: viaChat(messagesAdapter, chatToResponses), messages },
}

/** A client's way to a backend. */
export interface DialectRoute {
  dialect: Dialect
  /** What the backend is asked in. */
  target: TargetDialect
}

/** The client's own dialect goes before a translation, and chat before a translation of two steps. */
export function dialectRoute(client: ClientDialect, spoken: readonly TargetDialect[]): DialectRoute {
  const target = [client, 'chat' as const].find((one) => spoken.includes(one)) ?? spoken[0]
  if (target === undefined) throw new Error('a backend speaks no dialect')
  return { dialect: pairs[client][target], target }
}
