/**
 * One request over the bus, JSON both ways, its answer parsed with the contract's schema.
 *
 * While the asked service is being restarted nobody answers for a moment: the question is repeated until its time is
 * up, and only then the caller gets a 503. A question that may be answered twice is repeated for a while also where the
 * service failed to answer it: when a store comes back, some processes find it a little later than others.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { NoResponderError, RemoteError, type Bus } from '@gateway/bus/port'
import { GatewayError } from '@gateway/contracts/errors'
import type { ZodType } from 'zod'

const ASK_TIMEOUT_MS = 5_000
const FAILURE_PASSES_WITHIN_MS = 2_000
const REPEAT_AFTER_MS = 100

/** Whether an answer that failed there may be asked for again. */
interface AskOptions {
  repeatable?: boolean
}

export async function ask<Reply>(
  bus: Bus,
  subject: string,
  question: object,
  replySchema: ZodType<Reply>,
  { repeatable = false }: AskOptions = {},
): Promise<Reply> {
  const payload = Buffer.from(JSON.stringify(question))
  const askedAtMs = performance.now()
  const giveUpAtMs = askedAtMs + ASK_TIMEOUT_MS
  const repeatUntilMs = (cause: unknown): number => {
    if (cause instanceof NoResponderError) return giveUpAtMs
    return repeatable && cause instanceof RemoteError ? askedAtMs + FAILURE_PASSES_WITHIN_MS : 0
  }
  for (;;) {
    try {
      const reply = await bus.request(subject, payload, { timeoutMs: Math.max(1, giveUpAtMs - performance.now()) })
      return replySchema.parse(JSON.parse(Buffer.from(reply).toString()))
    } catch (cause) {
      if (performance.now() + REPEAT_AFTER_MS >= repeatUntilMs(cause)) {
        throw new GatewayError(
          'SERVICE_UNAVAILABLE',
          'A part of the gateway does not answer; try again shortly',
          {},
          { cause },
        )
      }
      await sleep(REPEAT_AFTER_MS)
    }
  }
}
