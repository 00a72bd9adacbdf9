/**
 * What edges seal kept answers with: derived from the master secret one way, so that an edge holds nothing that opens a
 * key, and nobody has to give it a secret of its own.
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
