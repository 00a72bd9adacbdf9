/**
 * The bounds that a request's charge is reserved by. Each call of a hosted tool may fill the context window anew: its result
 * becomes part of the next prompt, and the vendor bills that prompt as a whole.
 */

import type { HostedCalls } from '@gateway/contracts/hosted-tools'
import type { ChargeBounds } from '@gateway/pricing/charge'
import type { TokenEstimate } from './estimate-tokens.ts'

export function chargeBounds(
  { maxPromptTokens, maxOutputTokens, mayHoldSound = false }: TokenEstimate,
  hosted: HostedCalls | undefined,
  windowTokens: number,
): ChargeBounds {
  const promptTokens = maxPromptTokens + (hosted?.total ?? 0) * windowTokens
  return { promptTokens, maxOutputTokens, mayHoldSound, ...(hosted && { hosted }) }
}
