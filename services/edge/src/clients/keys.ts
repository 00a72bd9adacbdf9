/**
 * The edge's calls to the keys service.
 */

import type { Bus } from '@gateway/bus/port'
import { asksOn } from './ask.ts'
import { endsKey } from './end-key.ts'
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
