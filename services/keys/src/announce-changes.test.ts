import { startPostgres, type PostgresServer } from '@gateway/testing/servers'
import { parseKey } from '@gateway/contracts/api-key'
import type { KeyOwner } from '@gateway/contracts/developer-keys-api'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { hashOf, openKeysService, type TestKeys } from '../test/keys-service.ts'
import { lockAccount, raiseVersion } from './db/accounts.ts'
import { deactivateKey, findOwnKey } from './db/keys.ts'
import { noteChange } from './db/outbox.ts'
import { mintKey } from './handlers/mint-key.ts'

let postgres: PostgresServer
let keys: TestKeys
beforeAll(async () => void (postgres = await startPostgres()), 60_000)
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => void (keys = await openKeysService(postgres)))
afterEach(() => keys[Symbol.asyncDispose]())

const owner = (subject: string): KeyOwner => ({ issuer: 'https://id.example', subject })
const mint = async (subject: string): Promise<string> => (await mintKey(keys, { owner: owner(subject) })).key
const tagOf = (key: string): string => parseKey(key)!.accountTag

/** A change of plan whose process died before it was announced. Nobody here answers for metering, so it stays undeliverable. */
async function leavePlanChange(key: string): Promise<void> {
  await noteChange(keys.database, { account: tagOf(key), reason: 'plan', deadKey: null })
}

/** A revoke that is committed and whose process died before it was announced. */
async function leaveRevoke(key: string): Promise<void> {
  const account = tagOf(key)
  await keys.database.transaction(async (transaction) => {
    await lockAccount(transaction, account)
    const own = await findOwnKey(transaction, account, Buffer.from(hashOf(key), 'base64url'))
    const deadKey = await deactivateKey(transaction, own!, await raiseVersion(transaction, account))
    await noteChange(transaction, { account, reason: 'revoked', deadKey })
  })
}

const soon = { timeout: 10_000, interval: 50 }
const stateOf = async (key: string) => (await keys.admission.ask(key)).kind

test('a revoke that was left behind is announced though the plan change of another account cannot be', async () => {
  const [poisoned, revoked] = [await mint('alice'), await mint('bob')]
  await leavePlanChange(poisoned)
  await leaveRevoke(revoked)
  await expect.poll(() => stateOf(revoked), soon).toBe('deny')
}, 20_000)

test('a revoke that was left behind is announced though a plan change of its own account cannot be', async () => {
  const key = await mint('alice')
  await leavePlanChange(key)
  await leaveRevoke(key)
  await expect.poll(() => stateOf(key), soon).toBe('deny')
}, 20_000)
