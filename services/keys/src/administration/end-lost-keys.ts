/**
 * Ends the named keys of a person whose token no longer gives a membership, as a revocation does. The keys end before the token's
 * claims are noted. So a process that dies in between ends them at the next sign-in.
 */

import type { CallOrigin } from '@gateway/contracts/administration/envelope'
import { writeAuditEntry } from '../core/audit-entry.ts'
import { raiseVersion } from '../db/accounts.ts'
import { appendToAuditLog } from '../db/audit-log.ts'
import { findLostBy, type LostAccess } from '../db/lost-access.ts'
import { noteProjectChange, type Change } from '../db/outbox.ts'
import { endKeysOf } from '../db/people.ts'
import { lockProjectRow } from '../db/projects.ts'
import type { KeysDatabase } from '../db/tables.ts'
import type { SignIn } from '../db/users.ts'
import { ended } from '../handlers/developer-keys.ts'
import type { KeysContext } from '../keys-context.ts'

/** The identity provider has ended the membership; the gateway draws the consequence. */
const SYSTEM = { kind: 'system', id: 'system', email: null } as const

export async function endLostKeys(
  { database, changes }: Pick<KeysContext, 'database' | 'changes'>,
  signIn: SignIn,
  origin: CallOrigin,
): Promise<void> {
  for (const { account } of await findLostBy(database, signIn)) {
    const change = await database.transaction().execute(async (transaction) => {
      await lockProjectRow(transaction, account)
      // A member may have been added meanwhile.
      const [lost] = await findLostBy(transaction, signIn, account)
      return lost ? endKeys(transaction, lost, origin) : null
    })
    if (change) await changes.announce(change)
  }
}

async function endKeys(transaction: KeysDatabase, lost: LostAccess, origin: CallOrigin): Promise<Change> {
  const { account } = lost
  const version = await raiseVersion(transaction, account)
  const dead = await endKeysOf(transaction, lost, version)
  const change = await noteProjectChange(transaction, { account, reason: 'revoked', version })
  const texts = dead.map((key) => writeAuditEntry(ended({ account, ...key }), SYSTEM, origin))
  await appendToAuditLog(transaction, texts)
  return change
}
