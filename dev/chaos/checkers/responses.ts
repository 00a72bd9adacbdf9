/**
 * No false end: a response that looks complete is the backend's own response to the last character, from one attempt.
 * An incomplete one never says `[DONE]` and, in a stream, ends with an error event.
 */

import type { Seen } from '../clients/seen.ts'
import type { Facts, Verdict } from './facts.ts'

export function checkResponses({ seen, calls }: Facts): Verdict[] {
  const responses = seen.filter(({ status, kind }) => status === 200 && kind !== 'rotate' && kind !== 'revoke')
  const known = new Set(calls.map(({ responseId }) => responseId))
  return [
    {
      invariant: 'content is exactly the backend’s, and [DONE] never lies',
      checked: responses.length,
      violations: responses.flatMap((response) =>
        faultsIn(response, known).map((what) => ({ requests: [`${response.id} ${response.requestId}`], what })),
      ),
    },
  ]
}

function faultsIn(response: Seen, known: ReadonlySet<string | null>): string[] {
  const { text, complete, done, errorEvent, finishReason, responseIds, model } = response
  const faults: string[] = []
  if (text === 'other') faults.push(response.detail)
  if (responseIds.length > 1) faults.push(`parts of several answers: ${responseIds.join(', ')}`)
  if (responseIds.some((id) => !known.has(id))) faults.push(`no backend gave the answer ${responseIds.join(', ')}`)
  if ((complete || done) && text !== 'all') faults.push('it looks complete and is not')
  if ((complete || done) && finishReason === null && model !== 'embed')
    faults.push('it looks complete, without a finish reason')
  if (done && errorEvent !== null) faults.push('[DONE] although it failed')
  if (response.problem?.startsWith('not readable') || response.problem?.startsWith('an event'))
    faults.push(response.problem)
  return faults
}
