/**
 * The secret of the keyed hashes: random, made once, sealed under the master key. Unlike a key derived from the master
 * secret it survives that secret's rotation, and a wrong master secret is found out when the service starts, before it
 * could seal anything under it.
 */

import { randomBytes } from 'node:crypto'
import type { Database, Queryable } from '@gateway/postgres/database'
import type { Pepper } from '../core/hashing.ts'
import type { MasterKeys } from '../core/master-keys.ts'
import { open, seal, type Sealed } from '@gateway/service/sealing'

const NAME = 'pepper'
const PEPPER_LENGTH = 32

/** The pepper, sealed under the current master key from now on. */
export async function readPepper(database: Database, masterKeys: MasterKeys): Promise<Pepper> {
  return database.transaction(async (transaction) => {
    await insertSecret(transaction, seal(masterKeys, randomBytes(PEPPER_LENGTH), NAME))
    const { rows } = await transaction.query<Sealed>(
      'select sealed, master_key_id as "masterKeyId" from keys.secrets where name = $1 for update',
      [NAME],
    )
    const pepper = open(masterKeys, rows[0]!, NAME)
    if (rows[0]!.masterKeyId !== masterKeys.current.id) await replaceSecret(transaction, seal(masterKeys, pepper, NAME))
    return pepper
  })
}

async function insertSecret(transaction: Queryable, { sealed, masterKeyId }: Sealed): Promise<void> {
  await transaction.query(
    'insert into keys.secrets (name, sealed, master_key_id) values ($1, $2, $3) on conflict (name) do nothing',
    [NAME, sealed, masterKeyId],
  )
}

async function replaceSecret(transaction: Queryable, { sealed, masterKeyId }: Sealed): Promise<void> {
  await transaction.query('update keys.secrets set sealed = $2, master_key_id = $3 where name = $1', [
    NAME,
    sealed,
    masterKeyId,
  ])
}
