/**
 * Requests that end keys of one owner run one after the other. So an owner with locked rows holds only one of the few connections
 * for revoking, at any number of requests.
 */

import type { KeyOwner } from '@gateway/contracts/developer-keys-api'

export type KeyedMutex = <Result>(owner: KeyOwner, run: () => Promise<Result>) => Promise<Result>

export function keyedMutex(): KeyedMutex {
  const lastOf = new Map<string, Promise<unknown>>()
  return (owner, run) => {
    const name = JSON.stringify([owner.issuer, owner.subject])
    const turn = (lastOf.get(name) ?? Promise.resolve()).then(run)
    const over = turn.then(
      () => {},
      () => {},
    )
    lastOf.set(name, over)
    void over.then(() => {
      if (lastOf.get(name) === over) lastOf.delete(name)
    })
    return turn
  }
}
