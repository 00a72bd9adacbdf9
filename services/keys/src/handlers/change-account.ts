/**
 * An operator's changes of an account (plan, overage, top-ups), and its description. A reply means that the change holds for the
 * very next request.
 */

import type {
  AccountReply,
  SetOverageRequest,
  SetPlanRequest,
  ShowAccountRequest,
  TopUpRequest,
} from '@gateway/contracts/accounts-api'
import { fromPlanUnit, toPlanUnit } from '@gateway/pricing/charge'
import { unitOf } from '../core/plans.ts'
import { changeAccount, findAccounts, lockAccount, type Account, type NamedAccount } from '../db/accounts.ts'
import { listKeys } from '../db/keys.ts'
import { noteChange, type ChangeReason } from '../db/outbox.ts'
import type { KeysDatabase } from '../db/tables.ts'
import { findTopUp, insertTopUp, isCountable, readExtra } from '../db/top-ups.ts'
import type { KeysContext } from '../keys-context.ts'

export async function setPlan(context: KeysContext, { subject, plan }: SetPlanRequest): Promise<AccountReply> {
  const plans = context.config.current.plans.map(({ slug }) => slug)
  if (!plans.includes(plan)) return { kind: 'no_such_plan', plans }
  return change(context, subject, 'plan', (transaction, { tag }) => changeAccount(transaction, tag, { plan }))
}

export async function setOverage(context: KeysContext, { subject, overage }: SetOverageRequest): Promise<AccountReply> {
  return change(context, subject, 'overage', (transaction, { tag }) => changeAccount(transaction, tag, { overage }))
}

export async function topUp(context: KeysContext, { id, subject, amount }: TopUpRequest): Promise<AccountReply> {
  return change(context, subject, 'top_up', async (transaction, { tag, plan }) => {
    const unit = unitOf(context.config.current.plans, plan)
    const window = await currentWindow(context, tag)
    const ofMonth = { account: tag, unit, window }
    const smallest = fromPlanUnit(amount, unit)
    const uncountable = new RangeError(`amount: ${amount} ${unit} is more, or less, than can be counted`)
    if (smallest < 1 || !Number.isSafeInteger(smallest)) throw uncountable
    const isNew = await insertTopUp(transaction, { id, ...ofMonth, amount: smallest })
    if (!isNew) return expectSame(transaction, { id, account: tag, amount })
    if (!(await isCountable(transaction, ofMonth))) throw uncountable
    await changeAccount(transaction, tag, {})
  })
}

export async function showAccount(context: KeysContext, { subject }: ShowAccountRequest): Promise<AccountReply> {
  return withOne(await findAccounts(context.database, subject), (account) => view(context, account))
}

/** One that is repeated adds nothing; another one under its id would be lost. */
async function expectSame(
  transaction: KeysDatabase,
  { id, account, amount }: { id: string; account: string; amount: number },
): Promise<void> {
  const known = await findTopUp(transaction, id)
  if (known?.account === account && known.amount === fromPlanUnit(amount, known.unit)) return
  throw new RangeError(`id: ${id} was used before, for another top-up`)
}

/** Makes a change under the account's lock, announces it, and returns the changed account. */
async function change(
  context: KeysContext,
  subject: string,
  reason: ChangeReason,
  make: (transaction: KeysDatabase, account: Account) => Promise<void>,
): Promise<AccountReply> {
  return withOne(await findAccounts(context.database, subject), async ({ tag }) => {
    const noted = await context.database.transaction().execute(async (transaction) => {
      await make(transaction, await lockAccount(transaction, tag))
      return noteChange(transaction, { account: tag, reason, deadKey: null })
    })
    await context.changes.announce(noted)
    return showAccount(context, { subject: tag })
  })
}

async function withOne(
  accounts: NamedAccount[],
  reply: (account: NamedAccount) => Promise<AccountReply>,
): Promise<AccountReply> {
  const [account, ...others] = accounts
  if (!account) return { kind: 'unknown' }
  if (others.length > 0) return { kind: 'ambiguous', matches: accounts.map(nameOf) }
  return reply(account)
}

function nameOf({ issuer, subject, tag }: NamedAccount): string {
  return issuer === null ? tag : `${issuer}|${subject}`
}

/** By the clock that dates charges; null while the store is away. */
async function currentWindow({ admission }: KeysContext, tag: string): Promise<string | null> {
  return admission.currentWindow(tag).then(
    ({ window }) => window,
    () => null,
  )
}

async function view(context: KeysContext, account: NamedAccount): Promise<AccountReply> {
  const { tag, kind, issuer, subject, plan, overage } = account
  const unit = unitOf(context.config.current.plans, plan)
  const window = await currentWindow(context, tag)
  const extra = toPlanUnit(await readExtra(context.database, { account: tag, unit, window }), unit)
  const page = await listKeys(context.database, tag, undefined)
  const keys = page?.keys.map((key) => ({ ...key, plan })) ?? []
  const hasMoreKeys = page?.next != null
  const facts = { kind, issuer, subject, plan, unit, overage, extra, keys, hasMoreKeys }
  return { kind: 'account', account: { account: tag, ...facts } }
}
