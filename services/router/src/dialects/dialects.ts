/** Serves a client of each dialect by a backend of each: one translation a pair. */

import type { CompactionForm } from '@gateway/contracts/usage-event'
import type { ClientDialect, TargetDialect } from '@gateway/contracts/vendors'
import { chatToMessages } from './chat-to-messages.ts'
import { chatToResponses } from './chat-to-responses.ts'
import { compactionAtVendor } from './compaction/native.ts'
import type { ChatDialect, Dialect } from './dialect.ts'
import { messagesToChat } from './messages-to-chat.ts'
import { messagesToMessages } from './messages-to-messages.ts'
import { chatToChat } from './chat-to-chat.ts'
import { viaChat } from './via-chat.ts'
import { responsesToResponses } from './responses-to-responses.ts'
import { compactionToChat, responsesToChat } from './responses-to-chat.ts'
import { sealedChat } from './sealed-chat.ts'

/** Chat at a backend of each dialect. */
const fromChat: Record<TargetDialect, ChatDialect> = {
  chat: chatToChat,
  responses: chatToResponses,
  messages: chatToMessages,
}

/** Other clients go by way of chat, but to a backend of their own dialect. */
const pairs: Record<ClientDialect, Record<TargetDialect, Dialect>> = {
  chat: atEach(sealedChat),
  responses: { ...atEach((target) => viaChat(responsesToChat, target)), responses: responsesToResponses },
  messages: { ...atEach((target) => viaChat(messagesToChat, target)), messages: messagesToMessages },
}

function atEach(route: (target: ChatDialect) => Dialect): Record<TargetDialect, Dialect> {
  const routes = Object.entries(fromChat).map(([name, target]) => [name, route(target)])
  return Object.fromEntries(routes) as Record<TargetDialect, Dialect>
}

/** A client's way to a backend. */
export interface DialectRoute {
  dialect: Dialect
  /** The dialect of requests to the backend. */
  target: TargetDialect
}

/** The client's own dialect goes before a translation, and chat before a translation of two steps. */
export function dialectRoute(client: ClientDialect, spoken: readonly TargetDialect[]): DialectRoute {
  const target = spoken.find((one) => one === client) ?? spoken.find((one) => one === 'chat') ?? spoken[0]
  if (target === undefined) throw new Error('a backend speaks no dialect')
  return { dialect: pairs[client][target], target }
}

const compactions = { endpoint: compactionToChat, trigger: responsesToChat }

/**
 * The routes of a request to compact. A vendor that compacts gets the request as it is (`atVendor`). Any other target is
 * requested to write a summary, by way of chat.
 */
export function compactionRoute(
  form: CompactionForm,
  spoken: readonly TargetDialect[],
  atVendor: boolean,
): DialectRoute & { isTranslated: boolean } {
  if (atVendor && spoken.includes('responses')) {
    const dialect = form === 'endpoint' ? compactionAtVendor : responsesToResponses
    return { dialect, target: 'responses', isTranslated: false }
  }
  const { target } = dialectRoute('chat', spoken)
  return { dialect: viaChat(compactions[form], fromChat[target]), target, isTranslated: true }
}
