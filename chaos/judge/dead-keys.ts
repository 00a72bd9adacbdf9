/**
 * Revoked means revoked: a request sent after its key's rotation or revocation had answered 200 is never admitted.
 */

import type { Facts, Verdict } from './facts.ts'

export function judgeDeadKeys({ seen, calls }: Facts): Verdict {
  const dead = seen.filter(({ keyState, kind }) => keyState === 'dead' && kind !== 'rotate' && kind !== 'revoke')
  const asked = new Set(calls.map(({ id }) => id))
  const admitted = dead.filter(({ id, status }) => status === 200 || asked.has(id))
  return {
    promise: 'no dead key is admitted after its 200',
    checked: dead.length,
    breaches: admitted.map(({ id, requestId, owner, status }) => ({
      requests: [`${id} ${requestId}`],
      what: `${owner}'s dead key was answered ${status}${asked.has(id) ? ' and reached a backend' : ''}`,
    })),
  }
}
