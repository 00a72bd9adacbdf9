/**
 * Answers the questions that the table of who talks to whom (`contracts/src/bus-roles.ts`) assigns to a service, as one
 * member of the service's group. A handler that throws is logged here and answers the asker with an error, never with
 * silence.
 */

import { decodeJson, encodeJson } from '@gateway/bus/json'
import type { Bus } from '@gateway/bus/port'
import { talks, type AnsweredBy, type Read, type Written } from '@gateway/contracts/bus-roles'
import { groups } from '@gateway/contracts/subjects'
import type { Logger } from '@gateway/telemetry/logger'
import { DURATION_BOUNDS, type Metrics } from '@gateway/telemetry/metrics'

/** A handler for each question that the service must answer. */
export type Handlers<Role extends keyof typeof groups> = {
  [Name in AnsweredBy<Role>]: (question: Read<Name, 'request'>) => Promise<Written<Name, 'reply'>>
}

export interface ServingParts {
  bus: Bus
  logger: Logger
  metrics: Metrics
}

/** Disposing takes no new requests and finishes those that are being answered. */
export async function serve<Role extends keyof typeof groups>(
  { bus, logger, metrics }: ServingParts,
  role: Role,
  handlers: Handlers<Role>,
): Promise<AsyncDisposable> {
  const seconds = metrics.histogram('gateway_bus_request_seconds', 'requests on the bus', DURATION_BOUNDS, [
    'subject',
    'outcome',
  ])
  const answering = new Set<Promise<Uint8Array>>()

  async function serveOne(name: AnsweredBy<Role>): Promise<AsyncDisposable> {
    const { subject, messages } = talks[name]
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
      answering.add(answered)
      return answered.finally(() => answering.delete(answered))
    })
  }

  await using starting = new AsyncDisposableStack()
  // Disposed of last, when nothing new comes in.
  starting.defer(() => Promise.allSettled(answering).then(() => {}))
  for (const name of Object.keys(handlers)) starting.use(await serveOne(name as AnsweredBy<Role>))
  return starting.move()
}
