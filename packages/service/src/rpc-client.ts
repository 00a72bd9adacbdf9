/**
 * The bus as one service may use it: the table of who talks to whom (`contracts/src/bus-roles.ts`) names the messages, and
 * the compiler refuses a message that the service may not send, or a body of another shape.
 *
 * A received message that does not fit its schema throws: an asker sees a failed answer, a listener's error goes to the bus' status.
 * A handler that throws is logged here and answers the asker with an error, never with silence.
 */

import type { Bus, RequestOptions } from '@gateway/bus/port'
import {
  type RespondedBy,
  type RequestedBy,
  type BusRole,
  type SubscribedBy,
  type Read,
  type ReportedBy,
  procedures,
  type PublishedBy,
  type Written,
} from '@gateway/contracts/bus-roles'
import { groups } from '@gateway/contracts/subjects'
import type { Logger } from '@gateway/telemetry/logger'
import { DURATION_BOUNDS, type Metrics } from '@gateway/telemetry/metrics'

export interface RpcClient<Role extends BusRole> {
  ask<Name extends RequestedBy<Role>>(
    name: Name,
    question: Written<Name, 'request'>,
    options: RequestOptions,
  ): Promise<Read<Name, 'reply'>>
  /** Tells every listener that is there now. */
  tell<Name extends PublishedBy<Role>>(name: Name, news: Written<Name, 'news'>): void
  hear<Name extends SubscribedBy<Role>>(
    name: Name,
    handler: (news: Read<Name, 'news'>) => void,
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
    async ask<Name extends RequestedBy<Role>>(name: Name, question: Written<Name, 'request'>, options: RequestOptions) {
      const { subject, messages } = procedures[name]
      const reply = await bus.request(subject, encodeJson(question), options)
      return messages.reply.parse(decodeJson(reply)) as Read<Name, 'reply'>
    },
    tell: (name, news) => bus.broadcast(procedures[name].subject, encodeJson(news)),
    hear<Name extends SubscribedBy<Role>>(name: Name, handler: (news: Read<Name, 'news'>) => void) {
      const { subject, messages } = procedures[name]
      return bus.listen(subject, (payload) => handler(messages.news.parse(decodeJson(payload)) as Read<Name, 'news'>))
    },
    report: (name, event, options) => bus.durable.publish(procedures[name].subject, encodeJson(event), options),
  }
}

/** A handler for each question that the service must answer. */
export type Handlers<Role extends keyof typeof groups> = {
  [Name in RespondedBy<Role>]: (question: Read<Name, 'request'>) => Promise<Written<Name, 'reply'>>
}

interface ServingParts {
  bus: Bus
  logger: Logger
  metrics: Metrics
}

/**
 * Answers the questions of the table as one member of the service's group. Disposing takes no new requests and finishes those that
 * are being answered.
 */
export async function serve<Role extends keyof typeof groups>(
  { bus, logger, metrics }: ServingParts,
  role: Role,
  handlers: Handlers<Role>,
): Promise<AsyncDisposable> {
  const seconds = metrics.histogram('gateway_bus_request_seconds', 'requests on the bus', DURATION_BOUNDS, [
    'subject',
    'outcome',
  ])
  const responding = new Set<Promise<Uint8Array>>()

  async function serveOne(name: RespondedBy<Role>): Promise<AsyncDisposable> {
    const { subject, messages } = procedures[name]
    const handle = handlers[name] as (question: unknown) => Promise<object>
    async function answer(payload: Uint8Array): Promise<Uint8Array> {
      const startedAtMs = performance.now()
      let outcome = 'failed'
      try {
        const reply = await handle(messages.request.parse(decodeJson(payload)))
        outcome = 'answered'
        return encodeJson(reply)
      } catch (error) {
        logger.error({ err: error, subject }, 'a request could not be answered')
        throw error
      } finally {
        seconds.labels(subject, outcome).observe((performance.now() - startedAtMs) / 1000)
      }
    }
    return bus.serve(subject, groups[role], (payload) => {
      const answered = answer(payload)
      responding.add(answered)
      return answered.finally(() => responding.delete(answered))
    })
  }

  await using starting = new AsyncDisposableStack()
  // Disposed of last, when nothing new comes in.
  starting.defer(() => Promise.allSettled(responding).then(() => {}))
  for (const name of Object.keys(handlers)) starting.use(await serveOne(name as RespondedBy<Role>))
  return starting.move()
}

export function encodeJson(message: object): Uint8Array {
  return Buffer.from(JSON.stringify(message))
}

/** Throws a SyntaxError for bytes that are no JSON. */
export function decodeJson(bytes: Uint8Array): unknown {
  return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString())
}
