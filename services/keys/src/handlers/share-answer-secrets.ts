/**
 * Gives edges the secrets for kept answers. They are one-way derivations of the master secret, so they open no key, and
 * edges need no secret of their own.
 */

import type { AnswerSecretsReply } from '@gateway/contracts/idempotency'
import type { MasterKey } from '../core/master-keys.ts'
import type { KeysContext } from '../keys-context.ts'

export async function shareAnswerSecrets({ masterKeys }: Pick<KeysContext, 'masterKeys'>): Promise<AnswerSecretsReply> {
  const { current, byId } = masterKeys
  const former = [...byId.values()].filter(({ id }) => id !== current.id)
  return { secrets: [current, ...former].map(shared) }
}

function shared({ id, answerSecret }: MasterKey): AnswerSecretsReply['secrets'][number] {
  return { masterKeyId: id, secret: Buffer.from(answerSecret).toString('base64url') }
}
