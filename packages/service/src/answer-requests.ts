/**
 * Answers bus requests, JSON both ways, as one member of a service's group. A handler that throws is logged here and
 * answers the asker with an error, never with silence.
 */

import type { Bus } from '@gateway/bus/port'
import type { Logger } from '@gateway/telemetry/logger'
import { DURATION_BOUNDS, type Family, type Histogram, type Metrics } from '@gateway/telemetry/metrics'

export type RequestHandler = (question: unknown) => Promise<object>

export interface AnswerParts {
  bus: Bus
  logger: Logger
  metrics: Metrics
}

/** Handlers by subject. Disposing takes no new requests and finishes those that are being answered. */
export async function answerRequests(
  parts: AnswerParts,
  group: string,
  handlers: Record<string, RequestHandler>,
): Promise<AsyncDisposable> {
  const seconds = parts.metrics.histogram(
    'gateway_bus_request_seconds',
    'Bus requests by subject and outcome',
    DURATION_BOUNDS,
    ['subject', 'outcome'],
  )
  const answering = new Set<Promise<Uint8Array>>()
  await using starting = new AsyncDisposableStack()
  // Disposed of last, when nothing new comes in.
  starting.defer(() => Promise.allSettled(answering).then(() => {}))
  for (const [subject, handler] of Object.entries(handlers)) {
    const onRequest = (payload: Uint8Array): Promise<Uint8Array> => {
      const answer = answerOne({ logger: parts.logger, seconds, subject, handler }, payload)
      answering.add(answer)
      return answer.finally(() => answering.delete(answer))
    }
    starting.use(await parts.bus.serve(subject, group, onRequest))
  }
  return starting.move()
}

interface Answering {
  logger: Logger
  seconds: Family<Histogram>
  subject: string
  handler: RequestHandler
}

async function answerOne({ logger, seconds, subject, handler }: Answering, payload: Uint8Array): Promise<Uint8Array> {
  const startedAtMs = performance.now()
  const count = (outcome: string): void =>
    seconds.labels(subject, outcome).observe((performance.now() - startedAtMs) / 1000)
  try {
    const reply = await handler(JSON.parse(Buffer.from(payload).toString()))
    count('answered')
    return Buffer.from(JSON.stringify(reply))
  } catch (error) {
    count('failed')
    logger.error({ err: error, subject }, 'a request could not be answered')
    throw error
  }
}
