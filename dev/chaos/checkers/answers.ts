/**
 * No false end: what looks complete is the backend's own answer to the last character, from one attempt; what is not
 * complete never says `[DONE]` and, in a stream, says so.
 */

import type { Seen } from '../clients/seen.ts'
import type { Facts, Verdict } from './facts.ts'

export function judgeResponses({ seen, calls }: Facts): Verdict[] {
  const answers = seen.filter(({ status, kind }) => status === 200 && kind !== 'rotate' && kind !== 'revoke')
  const known = new Set(calls.map(({ responseId }) => responseId))
  return [
    {
      promise: 'content is exactly the backend’s, and [DONE] never lies',
      checked: answers.length,
      breaches: answers.flatMap((answer) =>
        faultsIn(answer, known).map((what) => ({ requests: [`${answer.id} ${answer.requestId}`], what })),
      ),
    },
  ]
}

function faultsIn(answer: Seen, known: ReadonlySet<string | null>): string[] {
  const { text, whole, done, errorEvent, finishReason, responseIds, model } = answer
  const faults: string[] = []
  if (text === 'other') faults.push(answer.detail)
  if (responseIds.length > 1) faults.push(`parts of several answers: ${responseIds.join(', ')}`)
  if (responseIds.some((id) => !known.has(id))) faults.push(`no backend gave the answer ${responseIds.join(', ')}`)
  if ((whole || done) && text !== 'all') faults.push('it looks complete and is not')
  if ((whole || done) && finishReason === null && model !== 'embed')
    faults.push('it looks complete, without a finish reason')
  if (done && errorEvent !== null) faults.push('[DONE] although it failed')
  if (answer.problem?.startsWith('not readable') || answer.problem?.startsWith('an event')) faults.push(answer.problem)
  return faults
}
