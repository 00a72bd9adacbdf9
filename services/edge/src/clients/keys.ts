/**
 * The edge's calls to the keys service.
 */

import type { Bus } from '@gateway/bus/port'
import type { FindSessionReply, FindSessionRequest, KeyOwner } from '@gateway/contracts/developer-keys-api'
import { GatewayError } from '@gateway/contracts/errors'
import { asksOn } from './ask.ts'
import { shareCalls } from './share-calls.ts'

export type KeysClient = ReturnType<typeof createKeysClient>

export function createKeysClient(bus: Bus) {
  const asks = asksOn(bus)
  const fill = asks('keysFill')
  const findSession = asks('keysFindSession')
  return {
    /** Requests of one key that miss at once are filled by one call. */
    fill: shareCalls(({ account, keyHash }) => `${account} ${keyHash}`, fill),
    /** Straight from keys' own database: for while the admission store is away. */
    lookUp: asks('keysLookUp'),
    findSession,
    findAccount: asks('keysFindAccount'),
    mintGuest: asks('keysMintGuest'),
    mint: asks('keysMint'),
    rotate: endsKey(findSession, asks('keysRotate')),
    revoke: endsKey(findSession, asks('keysRevoke')),
    list: asks('keysList'),
    answerSecrets: asks('keysAnswerSecrets'),
  }
}

/** Each fails only when a mint falls into the moment between the two steps. */
const TRIES = 5

interface Ending {
  owner: KeyOwner
  keyHash: string
}

/**
 * Rotates or revokes a key in two steps. The first gets a ticket, the second ends the key under it. A mint that returns the
 * key in between voids the ticket.
 *
 * So a message that is still on its way when its client is refused ends no key that a later mint returns. This client has
 * not been refused yet: where a mint came in between, the edge takes another ticket.
 */
export function endsKey<Reply extends { kind: string; isLate?: boolean | undefined }>(
  findSession: (question: FindSessionRequest) => Promise<FindSessionReply>,
  end: (question: Ending & { ticket?: string | undefined }) => Promise<Reply>,
): (question: Ending) => Promise<Reply> {
  return async ({ owner, keyHash }) => {
    for (let tries = 0; tries < TRIES; tries++) {
      const session = await findSession({ owner, toEnd: keyHash })
      const ticket = session.kind === 'found' ? session.ticket : undefined
      const reply = await end({ owner, keyHash, ...(ticket !== undefined && { ticket }) })
      if (!reply.isLate) return reply
    }
    throw new GatewayError('SERVICE_UNAVAILABLE', 'The key is being minted again and again; try again shortly')
  }
}
