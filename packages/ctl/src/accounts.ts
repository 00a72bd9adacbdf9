/**
 * `accounts …`: shows an account, and changes it. A reply means that the change holds for the next request.
 */

import { randomUUID } from 'node:crypto'
import { type AccountReply, type AccountView, accountView } from '@gateway/contracts/accounts-api'
import { camelCased } from '@gateway/contracts/administration/snake-case'
import { readDecimalNumber } from '@gateway/service/plain-number'
import { UsageError } from '@gateway/service/report-fatal'
import { oneLine, type CommandResult } from './command-result.ts'
import type { Gateway } from './gateway.ts'

export async function showAccount(gateway: Gateway, subject: string): Promise<CommandResult> {
  return describe(await findAccount(gateway, subject))
}

export async function setPlan(gateway: Gateway, subject: string, plan: string): Promise<CommandResult> {
  return describe(accountIn(await gateway.request('keysSetPlan', { subject, plan })))
}

export async function setOverage(gateway: Gateway, subject: string, text: string): Promise<CommandResult> {
  if (text !== 'on' && text !== 'off') throw new UsageError(`overage is on or off, not ${text}`)
  return describe(accountIn(await gateway.request('keysSetOverage', { subject, overage: text === 'on' })))
}

export async function setSuspended(gateway: Gateway, subject: string, suspended: boolean): Promise<CommandResult> {
  const {
    object: _,
    id: _id,
    ...account
  } = await gateway.administer('accounts.update', { account_id: subject, suspended })
  return describe(accountView.parse(camelCased(account)))
}

/** The same bound as a plan's limit. */
const LARGEST_TOP_UP = 1e12

/** The same id adds nothing more, so an operator can repeat a top-up whose reply was lost. */
export async function topUp(
  gateway: Gateway,
  subject: string,
  text: string,
  id: string = randomUUID(),
): Promise<CommandResult> {
  const amount = readDecimalNumber(text)
  if (amount === null || amount <= 0 || amount > LARGEST_TOP_UP) {
    throw new UsageError(
      `an amount is a number above 0 in plain digits, ${LARGEST_TOP_UP} at the most, not ${JSON.stringify(text)}`,
    )
  }
  try {
    return describe(accountIn(await gateway.request('keysTopUp', { id, subject, amount })))
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    throw new UsageError(`${error.message}\nto repeat it safely: --id ${id}`)
  }
}

export async function findAccount(gateway: Gateway, subject: string): Promise<AccountView> {
  return accountIn(await gateway.request('keysShowAccount', { subject }))
}

function accountIn(reply: AccountReply): AccountView {
  switch (reply.kind) {
    case 'account':
      return reply.account
    case 'no_such_plan':
      throw new UsageError(`there is no such plan; there are: ${reply.plans.join(', ')}`)
    case 'ambiguous':
      throw new UsageError(
        `several accounts have this subject; name one of them:\n  ${reply.matches.map(oneLine).join('\n  ')}`,
      )
    case 'unknown':
      throw new UsageError('there is no such account')
  }
}

function describe(account: AccountView): CommandResult {
  const { account: tag, kind, issuer, subject, plan, unit, overage, extra, keys, hasMoreKeys } = account
  const lines = [
    ['account', `${tag} (${kind})`],
    ...(issuer === null ? [] : [['subject', `${issuer}|${subject}`]]),
    ['plan', plan],
    ['overage', overage ? 'on' : 'off'],
    ...(account.suspended ? [['state', 'suspended: no edge admits a key of it']] : []),
    ['top-ups', `${extra} ${unit} this month`],
    ...keys.map(({ keyId, status, createdAt, lastUsedAt }) => {
      return ['key', `${keyId}  ${status}, made ${createdAt}, ${lastUsedAt ? `last used ${lastUsedAt}` : 'never used'}`]
    }),
    ...(hasMoreKeys ? [['', `older keys are not shown: these are the newest ${keys.length}`]] : []),
  ]
  return {
    data: account,
    text: lines.map(([name = '', value = '']) => `${name.padEnd(9)}${oneLine(value)}`).join('\n'),
  }
}
