/**
 * The edge's questions to other services. A service that does not answer is a 503 for the client, never a hang.
 *
 * The bus asks again while a service is being restarted, and a repeatable question also while its answers fail or do not
 * come: one process of the service may be frozen, or lost with its host.
 */

import type { Bus } from '@gateway/bus/port'
import { talks, type AskedBy, type Read, type Written } from '@gateway/contracts/bus-roles'
import { GatewayError } from '@gateway/contracts/errors'
import { talkAs } from '@gateway/service/talk-as'

const ASK_TIMEOUT_MS = 5_000
const FAILURE_PASSES_WITHIN_MS = 2_000
/** Longer than a busy service takes. */
const SILENT_FOR_MS = 1_000

type Ask<Name extends AskedBy<'edge'>> = (question: Written<Name, 'request'>) => Promise<Read<Name, 'reply'>>

/** Makes the function that asks one of the table's questions. */
export function asksOn(bus: Bus): <Name extends AskedBy<'edge'>>(name: Name) => Ask<Name> {
  const edge = talkAs('edge', bus)
  return (name) => async (question) => {
    const patience = talks[name].isRepeatable
      ? { failingForMs: FAILURE_PASSES_WITHIN_MS, silentForMs: SILENT_FOR_MS }
      : {}
    try {
      return await edge.ask(name, question, { timeoutMs: ASK_TIMEOUT_MS, absentForMs: ASK_TIMEOUT_MS, ...patience })
    } catch (cause) {
      const message = 'A part of the gateway does not answer; try again shortly'
      throw new GatewayError('SERVICE_UNAVAILABLE', message, {}, { cause })
    }
  }
}
