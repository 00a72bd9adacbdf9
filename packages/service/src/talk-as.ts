/**
 * The bus as one service may use it: the table of who talks to whom (`contracts/src/bus-roles.ts`) names the messages, and
 * the compiler refuses a message that the service may not send, or a body of another shape.
 *
 * A received message that does not fit its schema throws: an asker sees a failed answer, a listener's error goes to the bus' status.
 */

import { decodeJson, encodeJson } from '@gateway/bus/json'
import type { Bus, RequestOptions } from '@gateway/bus/port'
import {
  talks,
  type AskedBy,
  type BusRole,
  type HeardBy,
  type Read,
  type ReportedBy,
  type ToldBy,
  type Written,
} from '@gateway/contracts/bus-roles'

export interface Talker<Role extends BusRole> {
  ask<Name extends AskedBy<Role>>(
    name: Name,
    question: Written<Name, 'request'>,
    options: RequestOptions,
  ): Promise<Read<Name, 'reply'>>
  /** Tells every listener that is there now. */
  tell<Name extends ToldBy<Role>>(name: Name, news: Written<Name, 'news'>): void
  hear<Name extends HeardBy<Role>>(name: Name, handler: (news: Read<Name, 'news'>) => void): Promise<AsyncDisposable>
  /** Publishes a durable event, as {@link Bus.publishDurable}. */
  report<Name extends ReportedBy<Role>>(
    name: Name,
    event: Written<Name, 'event'>,
    options: { timeoutMs: number },
  ): Promise<void>
}

export function talkAs<Role extends BusRole>(_role: Role, bus: Bus): Talker<Role> {
  return {
    async ask<Name extends AskedBy<Role>>(name: Name, question: Written<Name, 'request'>, options: RequestOptions) {
      const { subject, messages } = talks[name]
      const reply = await bus.request(subject, encodeJson(question), options)
      return messages.reply.parse(decodeJson(reply)) as Read<Name, 'reply'>
    },
    tell: (name, news) => bus.broadcast(talks[name].subject, encodeJson(news)),
    hear<Name extends HeardBy<Role>>(name: Name, handler: (news: Read<Name, 'news'>) => void) {
      const { subject, messages } = talks[name]
      return bus.listen(subject, (payload) => handler(messages.news.parse(decodeJson(payload)) as Read<Name, 'news'>))
    },
    report: (name, event, options) => bus.publishDurable(talks[name].subject, encodeJson(event), options),
  }
}
