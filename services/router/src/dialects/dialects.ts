/**
 * How a client of each dialect is served by a backend of each: one translation a pair. No client of a pair that is null reaches such a backend.
 */

import type { ClientDialect, TargetDialect } from '@gateway/contracts/vendors'
import { anthropic } from './anthropic.ts'
import type { Dialect } from './dialect.ts'
import { messagesFront } from './messages-to-chat.ts'
import { messages } from './messages.ts'
import { openai } from './openai.ts'
import { overChat } from './over-chat.ts'
import { responses } from './responses.ts'
import { responsesFront } from './responses-to-chat.ts'

/** By the client's dialect, then by the backend's. */
const pairs: Record<ClientDialect, Record<TargetDialect, Dialect | null>> = {
  chat: { chat: openai, responses: null, messages: anthropic },
  responses: {
    chat: overChat(responsesFront, openai),
    responses,
    messages: overChat(responsesFront, anthropic),
  },
  messages: { chat: overChat(messagesFront, openai), responses: null, messages },
}

/** A client's way to a backend. */
export interface Way {
  dialect: Dialect
  /** What the backend is asked in. */
  target: TargetDialect
}

/** The client's own dialect goes before a translation. Null: the backend speaks none that it could be translated into. */
export function wayTo(client: ClientDialect, spoken: readonly TargetDialect[]): Way | null {
  const nativeFirst = spoken.toSorted((one, other) => Number(other === client) - Number(one === client))
  for (const target of nativeFirst) {
    const dialect = pairs[client][target]
    if (dialect) return { dialect, target }
  }
  return null
}
