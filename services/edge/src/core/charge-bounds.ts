/**
 * The bounds by which the edge reserves a request's charge. Each call of a hosted tool may fill the context window again: its
 * result becomes part of the next prompt. The vendor bills all of that prompt, and again where it compacts it first.
 */

import type { HostedCalls } from '@gateway/contracts/hosted-tools'
import type { ChargeBounds } from '@gateway/pricing/charge'
import type { TokenEstimate } from './estimate-tokens.ts'

export function chargeBounds(
  { maxPromptTokens, maxOutputTokens, mayHoldSound = false, compaction }: TokenEstimate,
  hosted: HostedCalls | undefined,
  windowTokens: number,
): ChargeBounds {
  const calls = hosted?.total ?? 0
  const readTokens = maxPromptTokens + calls * windowTokens
  const beside = { mayHoldSound, ...(hosted && { hosted }) }
  // A result may make the prompt long enough.
  if (!compaction || (calls === 0 && maxPromptTokens < compaction.fromTokens)) {
    return { promptTokens: readTokens, maxOutputTokens, ...beside }
  }
  const compactions = calls + 1
  return {
    promptTokens: 2 * readTokens + compactions * (compaction.promptTokens + compaction.summaryTokens),
    maxOutputTokens: maxOutputTokens + compactions * compaction.summaryTokens,
    ...beside,
  }
}
