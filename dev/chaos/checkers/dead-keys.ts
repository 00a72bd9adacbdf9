/**
 * Revoked means revoked: a request sent after its key's rotation or revocation had returned 200 is never admitted.
 */

import type { Seen } from '../clients/seen.ts'
import type { Facts, Verdict } from './facts.ts'

export function checkDeadKeys({ seen, calls }: Facts): Verdict {
  const dead = seen.filter(({ keyState, kind }) => keyState === 'dead' && kind !== 'rotate' && kind !== 'revoke')
  const requested = new Set(calls.flatMap(({ id, requestId }) => [id, requestId]))
  // One that repeats itself takes its owner's next key, so its own name stands for more than this attempt.
  const reachedBackend = ({ requestId, id, kind }: Seen) =>
    requestId === null ? kind !== 'repeating' && requested.has(id) : requested.has(requestId)
  const admitted = dead.filter((seen) => seen.status === 200 || reachedBackend(seen))
  return {
    invariant: 'no dead key is admitted after its 200',
    checked: dead.length,
    violations: admitted.map((seen) => ({
      requests: [`${seen.id} ${seen.requestId}`],
      what: `${seen.owner}'s dead key was answered ${seen.status}${reachedBackend(seen) ? ' and reached a backend' : ''}`,
    })),
  }
}
