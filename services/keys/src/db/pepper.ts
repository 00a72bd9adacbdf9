/**
 * The secret of the keyed hashes: random, created once, sealed under the master key. Unlike a key derived from the master secret,
 * it survives that secret's rotation. A wrong master secret fails the service's start, before it could seal anything.
 */

import { randomBytes } from 'node:crypto'
import { open, seal } from '@gateway/sealing/sealing'
import type { Pepper } from '../core/hashing.ts'
import type { MasterKeys } from '../core/master-keys.ts'
import type { KeysDatabase } from './tables.ts'

const NAME = 'pepper'
const PEPPER_LENGTH = 32

/** The pepper, sealed under the current master key from now on. */
export async function readPepper(database: KeysDatabase, masterKeys: MasterKeys): Promise<Pepper> {
  const sealedNow = (pepper: Uint8Array) => {
    const { sealed, masterKeyId } = seal(masterKeys, pepper, NAME)
    return { sealed, master_key_id: masterKeyId }
  }
  return database.transaction().execute(async (transaction) => {
    await transaction
      .insertInto('keys.secrets')
      .values({ name: NAME, ...sealedNow(randomBytes(PEPPER_LENGTH)) })
      .onConflict((conflict) => conflict.column('name').doNothing())
      .execute()
    const held = await transaction
      .selectFrom('keys.secrets')
      .select(['sealed', 'master_key_id as masterKeyId'])
      .where('name', '=', NAME)
      .forUpdate()
      .executeTakeFirstOrThrow()
    const pepper = open(masterKeys, held, NAME)
    if (held.masterKeyId !== masterKeys.current.id) {
      await transaction.updateTable('keys.secrets').set(sealedNow(pepper)).where('name', '=', NAME).execute()
    }
    return pepper
  })
}
