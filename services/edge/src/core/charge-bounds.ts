/**
 * The bounds by which the edge reserves a request's charge. Each call of a hosted tool may fill the context window again: its
 * result becomes part of the next prompt. The vendor bills all of that prompt.
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
