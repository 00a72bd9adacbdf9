/**
 * One request over the bus, JSON both ways, its answer parsed with the contract's schema.
 *
 * While the asked service is being restarted nobody answers for a moment: the question is repeated until its time is
 * up, and only then the caller gets a 503.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { NoResponderError, type Bus } from '@gateway/bus/port'
import { GatewayError } from '@gateway/contracts/errors'
import type { ZodType } from 'zod'

const ASK_TIMEOUT_MS = 5_000
const REPEAT_AFTER_MS = 100

export async function ask<Reply>(
  bus: Bus,
  subject: string,
  question: object,
  replySchema: ZodType<Reply>,
): Promise<Reply> {
  const payload = Buffer.from(JSON.stringify(question))
  const giveUpAtMs = performance.now() + ASK_TIMEOUT_MS
  for (;;) {
    try {
      const reply = await bus.request(subject, payload, { timeoutMs: Math.max(1, giveUpAtMs - performance.now()) })
      return replySchema.parse(JSON.parse(Buffer.from(reply).toString()))
    } catch (cause) {
      const mayReturn = cause instanceof NoResponderError && performance.now() + REPEAT_AFTER_MS < giveUpAtMs
      if (!mayReturn) {
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
