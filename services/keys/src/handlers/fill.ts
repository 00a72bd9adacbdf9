/**
 * Admission does not know a key: fills it in, dead or alive, or says that nobody owns such a key.
 */

import { fillRequest, type FillReply } from '@gateway/contracts/keys-api'
import type { KeysContext } from '../keys-context.ts'
import { fillAdmission } from '../fill-admission.ts'

export async function fill(context: KeysContext, question: unknown): Promise<FillReply> {
  const { account: tag, keyHash } = fillRequest.parse(question)
  const hash = Buffer.from(keyHash, 'base64url')
  // Made-up keys end here, many at one look into an index.
  if (!(await context.lookUps.isKeyOf(tag, hash))) return { kind: 'unknown' }
  const write = () => fillAdmission(context, tag, hash)
  // A second try: the store may have begun a new life between its epoch and the writing.
  const account = await write().catch(write)
  return account ? { kind: 'filled', plan: account.plan } : { kind: 'unknown' }
}
