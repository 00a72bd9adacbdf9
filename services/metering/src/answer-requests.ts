/**
 * Answers bus requests, JSON both ways, as one member of this service's group. A handler that throws is logged here and
 * answers the asker with an error, never with silence.
 */

import type { Bus } from '@gateway/bus/port'
import { groups } from '@gateway/contracts/subjects'
import type { Logger } from '@gateway/service/logger'

export type Handler = (question: unknown) => Promise<object>

/** Disposing takes no new requests; those that are being answered go on. */
export async function answerRequests(
  bus: Bus,
  logger: Logger,
  handlers: Record<string, Handler>,
): Promise<AsyncDisposable> {
  const serving = new AsyncDisposableStack()
  for (const [subject, handler] of Object.entries(handlers)) {
    const answer = async (payload: Uint8Array): Promise<Uint8Array> => {
      try {
        return Buffer.from(JSON.stringify(await handler(JSON.parse(Buffer.from(payload).toString()))))
      } catch (error) {
        logger.error({ err: error, subject }, 'a request could not be answered')
        throw error
      }
    }
    serving.use(await bus.serve(subject, groups.metering, answer))
  }
  return serving
}
