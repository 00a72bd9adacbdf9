/**
 * The handlers of this service on a database of its own, with an admission store that remembers what it is told.
 */

import type { KeysAdmission } from '@gateway/admission/keys'
import type { Bus } from '@gateway/bus/port'
import { openDatabase, type Database } from '@gateway/postgres/database'
import { migrate } from '@gateway/postgres/migrate'
import { openConfigSource } from '@gateway/service/config-source'
import { createLogger } from '@gateway/service/logger'
import type { PostgresServer } from '@gateway/testing/servers'
import type { KeysContext } from '../src/keys-context.ts'
import { deriveMasterKeys } from '../src/core/master-keys.ts'
import { readPepper } from '../src/db/pepper.ts'

type Filled = Parameters<KeysAdmission['fill']>[0]

/** Keeps the promise of the port: of an account and of a key, what is older changes nothing. */
export interface RememberingAdmission extends KeysAdmission {
  away: boolean
  account(tag: string): Omit<Filled, 'keys'> | undefined
  /** Undefined: not known. */
  isActive(keyHash: string): boolean | undefined
}

export function rememberingAdmission(): RememberingAdmission {
  const accounts = new Map<string, Omit<Filled, 'keys'>>()
  const keys = new Map<string, { version: number; active: boolean }>()
  const take = (keyHash: string, version: number, active: boolean): void => {
    const held = keys.get(keyHash)
    if (!held || version >= held.version) keys.set(keyHash, { version, active })
  }
  return {
    away: false,
    account: (tag) => accounts.get(tag),
    isActive: (keyHash) => keys.get(keyHash)?.active,
    async fill({ keys: filledKeys, ...account }) {
      if (this.away) throw new Error('the store is away')
      const held = accounts.get(account.account)
      if (!held || account.version >= held.version) accounts.set(account.account, account)
      for (const { keyHash, version, active } of filledKeys) take(keyHash, version, active)
    },
    async deactivate({ keyHash, version }) {
      if (this.away) throw new Error('the store is away')
      take(keyHash, version, false)
    },
  }
}

export interface TestKeys extends KeysContext, AsyncDisposable {
  admission: RememberingAdmission
}

export const MASTER_SECRET = 'b5f0a3c9e7d14286a1f0c3e5d7b92846'

export async function openKeysService(
  postgres: PostgresServer,
  bus: Bus,
  masterSecret = MASTER_SECRET,
): Promise<TestKeys> {
  await using opening = new AsyncDisposableStack()
  const { url } = opening.use(await postgres.createDatabase())
  const database = opening.use(await openDatabase(url))
  await migrate(database, { schema: 'keys', directory: `${import.meta.dirname}/../src/db/migrations` })
  const logger = createLogger({ service: 'keys', level: 'silent' })
  const masterKeys = deriveMasterKeys(masterSecret)
  const opened = opening.move()
  return {
    bus,
    database,
    admission: rememberingAdmission(),
    config: await openConfigSource({ logger }),
    masterKeys,
    pepper: await readPepper(database, masterKeys),
    logger,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

export async function countRows(database: Database, table: 'accounts' | 'keys' | 'outbox'): Promise<number> {
  const { rows } = await database.query<{ count: number }>(`select count(*) as count from keys.${table}`)
  return rows[0]!.count
}
