/**
 * The server side of the procedures on the bus: a handler for each request that a service must serve.
 *
 * A handler that throws is logged here, and its caller receives an error at once.
 */

import type { Bus } from '@gateway/bus/port'
import { type ServedBy, type Read, procedures, type Written } from '@gateway/contracts/bus-roles'
import { groups } from '@gateway/contracts/subjects'
import type { Logger } from '@gateway/telemetry/logger'
import { DURATION_BOUNDS, type Metrics } from '@gateway/telemetry/metrics'
import { decodeJson, encodeJson } from './json.ts'

/** A handler for each request that the service must serve. */
export type Handlers<Role extends keyof typeof groups> = {
  [Name in ServedBy<Role>]: (request: Read<Name, 'request'>) => Promise<Written<Name, 'reply'>>
}

interface ServerOptions {
  bus: Bus
  logger: Logger
  metrics: Metrics
}

/**
 * Serves the requests of the table as one member of the service's queue group. Disposing takes no new requests and finishes the
 * running ones.
 */
export async function serve<Role extends keyof typeof groups>(
  { bus, logger, metrics }: ServerOptions,
  role: Role,
  handlers: Handlers<Role>,
): Promise<AsyncDisposable> {
  const seconds = metrics.histogram('gateway_bus_request_seconds', 'requests on the bus', DURATION_BOUNDS, [
    'subject',
    'outcome',
  ])
  const running = new Set<Promise<Uint8Array>>()

  async function serveOne(name: ServedBy<Role>): Promise<AsyncDisposable> {
    const { subject, messages } = procedures[name]
    const handle = handlers[name] as (request: unknown) => Promise<object>
    async function respond(payload: Uint8Array): Promise<Uint8Array> {
      const startedAtMs = performance.now()
      let outcome = 'failed'
      try {
        const reply = await handle(messages.request.parse(decodeJson(payload)))
        outcome = 'answered'
        return encodeJson(reply)
      } catch (error) {
        logger.error({ err: error, subject }, 'a request could not be served')
        throw error
      } finally {
        seconds.labels(subject, outcome).observe((performance.now() - startedAtMs) / 1000)
      }
    }
    return bus.serve(subject, groups[role], (payload) => {
      const response = respond(payload)
      running.add(response)
      return response.finally(() => running.delete(response))
    })
  }

  await using starting = new AsyncDisposableStack()
  // The stack disposes of this last, after no new request can arrive.
  starting.defer(() => Promise.allSettled(running).then(() => {}))
  for (const name of Object.keys(handlers)) starting.use(await serveOne(name as ServedBy<Role>))
  return starting.move()
}
