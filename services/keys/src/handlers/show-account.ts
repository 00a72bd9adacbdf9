/**
 * Shows an account: its plan, overage, top-ups and newest keys.
 */

import type { AccountReply, AccountView, ShowAccountRequest } from '@gateway/contracts/accounts-api'
import { toPlanUnit } from '@gateway/pricing/charge'
import { unitOf } from '../core/plans.ts'
import { findAccounts, type NamedAccount } from '../db/accounts.ts'
import { listKeys } from '../db/keys.ts'
import { readExtra } from '../db/top-ups.ts'
import type { KeysContext } from '../keys-context.ts'

export async function showAccount(context: KeysContext, { subject }: ShowAccountRequest): Promise<AccountReply> {
  return withOne(await findAccounts(context.database, subject), (account) => view(context, account))
}

/** Replies about the one account that is named, or says that there is none, or several. */
export async function withOne(
  accounts: NamedAccount[],
  reply: (account: NamedAccount) => Promise<AccountReply>,
): Promise<AccountReply> {
  const [account, ...others] = accounts
  if (!account) return { kind: 'unknown' }
  if (others.length > 0) return { kind: 'ambiguous', matches: accounts.map(nameOf) }
  return reply(account)
}

export function nameOf({ issuer, subject, tag }: NamedAccount): string {
  return issuer === null ? tag : `${issuer}|${subject}`
}

/** By the clock that dates charges; null while the store is away. */
export async function currentWindow(
  { admission }: Pick<KeysContext, 'admission'>,
  tag: string,
): Promise<string | null> {
  return admission.currentWindow(tag).then(
    ({ window }) => window,
    () => null,
  )
}

async function view(context: KeysContext, account: NamedAccount): Promise<AccountReply> {
  return { kind: 'account', account: await viewAccount(context, account) }
}

export async function viewAccount(
  context: Pick<KeysContext, 'admission' | 'config' | 'database'>,
  account: NamedAccount,
): Promise<AccountView> {
  const { tag, kind, issuer, subject, plan, overage, suspendedAt } = account
  const suspended = suspendedAt !== null
  const unit = unitOf(context.config.current.plans, plan)
  const window = await currentWindow(context, tag)
  const extra = toPlanUnit(await readExtra(context.database, { account: tag, unit, window }), unit)
  const page = await listKeys(context.database, tag, undefined)
  const keys = page?.keys.map((key) => ({ ...key, plan })) ?? []
  const hasMoreKeys = page?.next != null
  const facts = { kind, issuer, subject, plan, unit, overage, suspended, extra, keys, hasMoreKeys }
  return { account: tag, ...facts }
}
