/**
 * `/admin/v1/accounts`: an account's plan, overage and top-ups. The next request is decided by a change that was replied to.
 */

import { PROJECT_PREFIX } from '@gateway/contracts/administration/projects'
import type { AdministeredAccount } from '@gateway/contracts/administration/ours'
import { snakeCased } from '@gateway/contracts/administration/snake-case'
import { GatewayError } from '@gateway/contracts/errors'
import { fromPlanUnit } from '@gateway/pricing/charge'
import { unitOf } from '../core/plans.ts'
import { changeAccount, findAccounts, lockAccount, type Account, type NamedAccount } from '../db/accounts.ts'
import { noteChange, noteProjectChange, type ChangeReason } from '../db/outbox.ts'
import { findProjectRow } from '../db/projects.ts'
import { setSuspended } from '../db/suspensions.ts'
import { findTopUp, insertTopUp, isCountable } from '../db/top-ups.ts'
import { currentWindow, nameOf, viewAccount } from '../handlers/show-account.ts'
import type { AdministrationCall, AdministrationHandlers } from './call.ts'
import { archived } from './project-of-call.ts'

export const accountHandlers = {
  'plans.list': async ({ context }) => ({
    object: 'list',
    data: context.config.current.plans.map((plan) => ({
      id: plan.slug,
      object: 'plan',
      unit: plan.unit,
      limit: plan.limit,
      requests_per_minute: plan.rpm,
      tokens_per_minute: plan.tpm,
      requests_per_day: plan.perDay ?? null,
      is_default: plan.default,
      is_guest: plan.guest,
      is_paid: plan.paid,
      pay_as_you_go: plan.payAsYouGo,
    })),
  }),

  'accounts.retrieve': async (call, input) => view(call, await findOne(call, input)),

  'accounts.update': async (call, { plan, overage, suspended, ...input }) => {
    const named = await findOne(call, input)
    if (plan !== undefined) expectPlan(call, plan)
    const held = await lockAccount(call.transaction, named.tag)
    await expectLive(call, held)
    const isOtherPlan = plan !== undefined && plan !== held.plan
    const isOtherOverage = overage !== undefined && overage !== held.overage
    const change = { ...(isOtherPlan && { plan }), ...(isOtherOverage && { overage }) }
    const before = { ...(isOtherPlan && { plan: held.plan }), ...(isOtherOverage && { overage: held.overage }) }
    const wasSuspended = held.suspendedAt !== null
    const isOtherState = suspended !== undefined && suspended !== wasSuspended
    if (isOtherPlan || isOtherOverage) await changeAccount(call.transaction, named.tag, change)
    if (isOtherPlan || isOtherOverage || isOtherState) {
      auditChange(call, named, {
        before: { ...before, ...(isOtherState && { suspended: wasSuspended }) },
        after: { ...change, ...(isOtherState && { suspended }) },
      })
    }
    // The first call may have failed before its announcement.
    if (plan !== undefined || overage !== undefined) {
      await announceLater(call, named, plan === undefined ? 'overage' : 'plan')
    }
    if (suspended !== undefined) await suspendOrRestore(call, named, suspended)
    return view(call, await findOne(call, input))
  },

  'accounts.topUp': async (call, { id, amount, ...input }) => {
    const named = await findOne(call, input)
    const held = await lockAccount(call.transaction, named.tag)
    const isNew = await addTopUp(call, held, { id, amount })
    if (isNew) {
      await expectLive(call, held)
      await changeAccount(call.transaction, named.tag, {})
      auditChange(call, named, { after: { top_up: { id, amount } } })
    }
    await announceLater(call, named, 'top_up')
    return view(call, named)
  },
} satisfies Partial<AdministrationHandlers>

/** From the very next request on. */
export async function switchOverage(call: AdministrationCall, tag: string, overage: boolean): Promise<void> {
  const held = await lockAccount(call.transaction, tag)
  if (held.overage !== overage) {
    await changeAccount(call.transaction, tag, { overage })
    auditChange(call, { tag }, { before: { overage: held.overage }, after: { overage } })
  }
  // The first call may have failed before its announcement.
  await announceLater(call, { tag }, 'overage')
}

/** By the project's id, or as the command line names accounts. */
async function findOne(
  { transaction }: Pick<AdministrationCall, 'transaction'>,
  { account_id: id }: { account_id: string },
): Promise<NamedAccount> {
  const tag = id.startsWith(PROJECT_PREFIX) ? id.slice(PROJECT_PREFIX.length) : id
  const [account, ...others] = await findAccounts(transaction, tag)
  if (!account) throw new GatewayError('NOT_FOUND', 'There is no such account')
  if (others.length === 0) return account
  const names = [account, ...others].map(nameOf).join(', ')
  throw new GatewayError('CONFLICT', `Several accounts have this subject; name one of them: ${names}`)
}

/** Of a locked account. A repeated top-up of an archived project changes nothing, and needs no live one. */
async function expectLive({ transaction }: AdministrationCall, { tag }: Account): Promise<void> {
  if ((await findProjectRow(transaction, tag))?.archivedAt) throw archived(`${PROJECT_PREFIX}${tag}`)
}

function expectPlan({ context }: AdministrationCall, slug: string): void {
  const slugs = context.config.current.plans.map((plan) => plan.slug)
  if (slugs.includes(slug)) return
  const message = `plan: there is no such plan; there are: ${slugs.join(', ')}`
  throw new GatewayError('VALIDATION_ERROR', message, { param: 'plan' })
}

/** False where the same top-up is there already. */
async function addTopUp(
  { transaction, context }: AdministrationCall,
  { tag, plan }: Account,
  { id, amount }: { id: string; amount: number },
): Promise<boolean> {
  const ofMonth = {
    account: tag,
    unit: unitOf(context.config.current.plans, plan),
    window: await currentWindow(context, tag),
  }
  const smallest = fromPlanUnit(amount, ofMonth.unit)
  if (smallest < 1 || !Number.isSafeInteger(smallest)) throw uncountable(amount, ofMonth.unit)
  if (await insertTopUp(transaction, { id, ...ofMonth, amount: smallest })) {
    if (!(await isCountable(transaction, ofMonth))) throw uncountable(amount, ofMonth.unit)
    return true
  }
  const known = await findTopUp(transaction, id)
  if (known?.account === tag && known.amount === fromPlanUnit(amount, known.unit)) return false
  throw new GatewayError('CONFLICT', `The id ${id} was used before, for another top-up`, { param: 'id' })
}

function uncountable(amount: number, unit: string): GatewayError {
  const message = `amount: ${amount} ${unit} is more, or less, than can be counted`
  return new GatewayError('VALIDATION_ERROR', message, { param: 'amount' })
}

function auditChange(
  call: AdministrationCall,
  { tag }: Pick<NamedAccount, 'tag'>,
  change: { before?: Record<string, unknown>; after: Record<string, unknown> },
): void {
  const id = `${PROJECT_PREFIX}${tag}`
  call.audit({
    type: 'account.updated',
    projectId: id,
    details: { id, changes_requested: change.after },
    ...change,
  })
}

async function suspendOrRestore(call: AdministrationCall, { tag }: NamedAccount, suspended: boolean): Promise<void> {
  const version = await setSuspended(call.transaction, tag, suspended)
  const reason = suspended ? 'suspended' : 'restored'
  const change = await noteProjectChange(call.transaction, { account: tag, reason, version })
  call.afterCommit(() => call.context.changes.announce(change))
}

async function announceLater(
  call: AdministrationCall,
  { tag }: Pick<NamedAccount, 'tag'>,
  reason: ChangeReason,
): Promise<void> {
  const change = await noteChange(call.transaction, { account: tag, reason, deadKey: null })
  call.afterCommit(() => call.context.changes.announce(change))
}

async function view({ transaction, context }: AdministrationCall, { tag }: NamedAccount): Promise<AdministeredAccount> {
  const account = (await findAccounts(transaction, tag)).find((one) => one.tag === tag)!
  const shown = await viewAccount({ ...context, database: transaction }, account)
  return { id: `${PROJECT_PREFIX}${tag}`, object: 'account', ...snakeCased(shown) }
}
