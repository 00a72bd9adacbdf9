/**
 * Over HTTP there is no bus. Each request that commands send to the bus has a call of the administration API here that does the same.
 * So a command prints the same either way.
 */

import { type AccountReply, accountView } from '@gateway/contracts/accounts-api'
import { camelCased } from '@gateway/contracts/administration/snake-case'
import type { Read, RequestedBy, Written } from '@gateway/contracts/bus-roles'
import { accountUsageReply, usageByAccountReply } from '@gateway/contracts/metering-api'
import { showRoutersReply } from '@gateway/contracts/routers-api'
import { UsageError } from '@gateway/service/report-fatal'
import { type Administer, Refusal } from './over-http.ts'

type Name = Exclude<RequestedBy<'ctl'>, 'keysAdminister' | 'meteringAdminister'>
type SameCall<Of extends Name> = (administer: Administer, payload: Written<Of, 'request'>) => Promise<Read<Of, 'reply'>>

const sameCalls: { [Of in Name]: SameCall<Of> } = {
  routersShow: async (administer) => showRoutersReply.parse(camelCased(await administer('backends.list', {}))),
  keysShowAccount: (administer, { subject }) => account(administer('accounts.retrieve', { account_id: subject })),
  keysSetPlan: (administer, { subject, plan }) => account(administer('accounts.update', { account_id: subject, plan })),
  keysSetOverage: (administer, { subject, overage }) =>
    account(administer('accounts.update', { account_id: subject, overage })),
  keysTopUp: (administer, { subject, id, amount }) =>
    account(administer('accounts.topUp', { account_id: subject, id, amount })),
  keysRevokeById: async (administer, { keyId }) => {
    const revoked = await orUnknown(administer('keys.revoke', { key_id: keyId }))
    return revoked ? { kind: 'revoked', account: revoked.account } : { kind: 'unknown' }
  },
  keysReseal: async (administer) => {
    const { resealed, is_complete: isComplete } = await administer('keys.reseal', {})
    return { sealedAnew: resealed, isComplete }
  },
  keysReconcile: async (administer, question) => {
    const { accounts, drifts, has_more: hasMore } = await administer('reconcile', question)
    return { accounts, plans: [], drifts, isLast: !hasMore }
  },
  // The page before has compared the totals, too.
  meteringReconcile: async () => ({ drifts: [] }),
  meteringAccountUsage: async (administer, { account: id, groupBy, ...question }) => {
    const usage = await administer('accounts.usage', { account_id: id, group_by: groupBy, ...question })
    return accountUsageReply.parse(camelCased(usage))
  },
  meteringUsageByAccount: async (administer, { from, to, atMost }) =>
    usageByAccountReply.parse(camelCased(await administer('accounts.mostUsage', { from, to, limit: atMost }))),
}

export function requestOverHttp(administer: Administer) {
  return async <Of extends RequestedBy<'ctl'>>(
    name: Of,
    payload: Written<Of, 'request'>,
  ): Promise<Read<Of, 'reply'>> => {
    const call = (sameCalls as unknown as Record<string, SameCallOfAny<Of> | undefined>)[name]
    if (!call)
      throw new UsageError('this command needs the bus of the gateway: leave --url out, and set DATA_DIR or NATS_URL')
    return call(administer, payload)
  }
}

type SameCallOfAny<Of extends RequestedBy<'ctl'>> = (
  administer: Administer,
  payload: Written<Of, 'request'>,
) => Promise<Read<Of, 'reply'>>

async function account(changed: Promise<unknown>): Promise<AccountReply> {
  const view = await orUnknown(changed)
  return view === null ? { kind: 'unknown' } : { kind: 'account', account: accountView.parse(camelCased(view)) }
}

async function orUnknown<Output>(output: Promise<Output>): Promise<Output | null> {
  return output.catch((error: unknown) => {
    if (error instanceof Refusal && error.code === 'NOT_FOUND') return null
    throw error
  })
}
