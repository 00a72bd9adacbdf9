/**
 * Revoked means revoked: a request sent after its key's rotation or revocation had answered 200 is never admitted.
 */

import type { Seen } from '../clients/seen.ts'
import type { Facts, Verdict } from './facts.ts'

export function judgeDeadKeys({ seen, calls }: Facts): Verdict {
  const dead = seen.filter(({ keyState, kind }) => keyState === 'dead' && kind !== 'rotate' && kind !== 'revoke')
  const asked = new Set(calls.flatMap(({ id, requestId }) => [id, requestId]))
  // One that repeats itself takes its owner's next key, so its own name stands for more than this attempt.
  const reachedBackend = ({ requestId, id, kind }: Seen) =>
    requestId === null ? kind !== 'repeating' && asked.has(id) : asked.has(requestId)
  const admitted = dead.filter((seen) => seen.status === 200 || reachedBackend(seen))
  return {
    promise: 'no dead key is admitted after its 200',
    checked: dead.length,
    breaches: admitted.map((seen) => ({
      requests: [`${seen.id} ${seen.requestId}`],
      what: `${seen.owner}'s dead key was answered ${seen.status}${reachedBackend(seen) ? ' and reached a backend' : ''}`,
    })),
  }
}
