/**
 * How a client of each dialect is served by a backend of each: one translation a pair. A pair that is missing is not spoken.
 */

import type { ApiDialect } from '@gateway/contracts/vendors'
import { anthropic } from './anthropic.ts'
import type { Dialect } from './dialect.ts'
import { messagesFront } from './messages-to-chat.ts'
import { messages } from './messages.ts'
import { openai } from './openai.ts'
import { overChat } from './over-chat.ts'
import { responses } from './responses.ts'
import { responsesFront } from './responses-to-chat.ts'

/** By the client's dialect, then by the backend's. */
const pairs: Record<ApiDialect, Partial<Record<ApiDialect, Dialect>>> = {
  chat: { chat: openai, messages: anthropic },
  responses: {
    chat: overChat(responsesFront, openai),
    responses,
    messages: overChat(responsesFront, anthropic),
  },
  messages: { messages, chat: overChat(messagesFront, openai) },
}

/** A client's way to a backend. */
export interface Way {
  dialect: Dialect
  /** What the backend is asked in. */
  target: ApiDialect
}

/** The client's own dialect goes before a translation. Null: the backend speaks none that it could be translated into. */
export function wayTo(client: ApiDialect, spoken: readonly ApiDialect[]): Way | null {
  for (const target of [client, ...spoken]) {
    const dialect = spoken.includes(target) ? pairs[client][target] : undefined
    if (dialect) return { dialect, target }
  }
  return null
}
