/**
 * Typed calls to the keys service. A keys service that does not answer is a 503, never a hang.
 */

import type { Bus } from '@gateway/bus/port'
import {
  findAccountReply,
  findSessionReply,
  listKeysReply,
  mintKeyReply,
  revokeKeyReply,
  rotateKeyReply,
  type FindAccountReply,
  type FindSessionReply,
  type KeyOwner,
  type ListKeysReply,
  type MintKeyReply,
  type RevokeKeyReply,
  type RotateKeyReply,
} from '@gateway/contracts/developer-keys-api'
import { answerSecretsReply, type AnswerSecretsReply } from '@gateway/contracts/idempotency'
import {
  fillReply,
  lookUpReply,
  mintGuestReply,
  type FillReply,
  type FillRequest,
  type LookUpReply,
  type MintGuestReply,
  type MintGuestRequest,
} from '@gateway/contracts/keys-api'
import { subjects } from '@gateway/contracts/subjects'
import { ask } from './ask.ts'
import { shareCalls } from './share-calls.ts'

export interface KeysClient {
  /** Requests of one key that miss at once are filled by one call. */
  fill(request: FillRequest): Promise<FillReply>
  /** Straight from keys' own database: for while the admission store is away. */
  lookUp(request: FillRequest): Promise<LookUpReply>
  findSession(request: { owner: KeyOwner }): Promise<FindSessionReply>
  findAccount(request: { owner: KeyOwner }): Promise<FindAccountReply>
  mintGuest(request: MintGuestRequest): Promise<MintGuestReply>
  mint(request: { owner: KeyOwner }): Promise<MintKeyReply>
  rotate(request: { owner: KeyOwner; keyHash: string }): Promise<RotateKeyReply>
  revoke(request: { owner: KeyOwner; keyHash: string }): Promise<RevokeKeyReply>
  list(request: { owner: KeyOwner }): Promise<ListKeysReply>
  answerSecrets(): Promise<AnswerSecretsReply>
}

export function createKeysClient(bus: Bus): KeysClient {
  return {
    fill: shareCalls(
      ({ account, keyHash }) => `${account} ${keyHash}`,
      (request) => ask(bus, subjects.keysFill, request, fillReply, { repeatable: true }),
    ),
    lookUp: (request) => ask(bus, subjects.keysLookUp, request, lookUpReply, { repeatable: true }),
    findSession: (request) => ask(bus, subjects.keysFindSession, request, findSessionReply, { repeatable: true }),
    findAccount: (request) => ask(bus, subjects.keysFindAccount, request, findAccountReply, { repeatable: true }),
    mintGuest: (request) => ask(bus, subjects.keysMintGuest, request, mintGuestReply),
    mint: (request) => ask(bus, subjects.keysMint, request, mintKeyReply),
    rotate: (request) => ask(bus, subjects.keysRotate, request, rotateKeyReply),
    revoke: (request) => ask(bus, subjects.keysRevoke, request, revokeKeyReply),
    list: (request) => ask(bus, subjects.keysList, request, listKeysReply),
    answerSecrets: () => ask(bus, subjects.keysAnswerSecrets, {}, answerSecretsReply, { repeatable: true }),
  }
}
