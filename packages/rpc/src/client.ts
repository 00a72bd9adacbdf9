/**
 * The client side of the procedures on the bus. The table `contracts/src/bus-roles.ts` names the messages, and the compiler
 * refuses a message that the service may not send, or a body of another shape.
 *
 * A received message that does not fit its schema throws. A caller's request then fails, and the bus reports a subscriber's
 * error by its status.
 */

import type { Bus, RequestOptions } from '@gateway/bus/port'
import {
  type RequestedBy,
  type BusRole,
  type SubscribedBy,
  type Read,
  type ReportedBy,
  procedures,
  type PublishedBy,
  type Written,
} from '@gateway/contracts/bus-roles'
import { decodeJson, encodeJson } from './json.ts'

export interface RpcClient<Role extends BusRole> {
  request<Name extends RequestedBy<Role>>(
    name: Name,
    request: Written<Name, 'request'>,
    options: RequestOptions,
  ): Promise<Read<Name, 'reply'>>
  /** Delivers to every present subscriber, at most once. */
  publish<Name extends PublishedBy<Role>>(name: Name, event: Written<Name, 'news'>): void
  subscribe<Name extends SubscribedBy<Role>>(
    name: Name,
    handler: (event: Read<Name, 'news'>) => void,
  ): Promise<AsyncDisposable>
  /** Publishes a durable event, as `Bus.durable`. */
  report<Name extends ReportedBy<Role>>(
    name: Name,
    event: Written<Name, 'event'>,
    options: { timeoutMs: number },
  ): Promise<void>
}

export function rpcClient<Role extends BusRole>(_role: Role, bus: Bus): RpcClient<Role> {
  return {
    async request<Name extends RequestedBy<Role>>(
      name: Name,
      request: Written<Name, 'request'>,
      options: RequestOptions,
    ) {
      const { subject, messages } = procedures[name]
      const reply = await bus.request(subject, encodeJson(request), options)
      return messages.reply.parse(decodeJson(reply)) as Read<Name, 'reply'>
    },
    publish: (name, event) => bus.broadcast(procedures[name].subject, encodeJson(event)),
    subscribe<Name extends SubscribedBy<Role>>(name: Name, handler: (event: Read<Name, 'news'>) => void) {
      const { subject, messages } = procedures[name]
      return bus.listen(subject, (payload) => handler(messages.news.parse(decodeJson(payload)) as Read<Name, 'news'>))
    },
    report: (name, event, options) => bus.durable.publish(procedures[name].subject, encodeJson(event), options),
  }
}
