/**
 * The operator's commands on the bus. Each is the call of the administration API that does the same, so both write the same row of the
 * audit log. A reply means that the change holds for the very next request.
 */

import { randomUUID } from 'node:crypto'
import type {
  AccountReply,
  ResealReply,
  RevokeKeyByIdReply,
  RevokeKeyByIdRequest,
  SetOverageRequest,
  SetPlanRequest,
  TopUpRequest,
} from '@gateway/contracts/accounts-api'
import type { AdministerReply, CallOrigin } from '@gateway/contracts/administration/envelope'
import type { OperationsOf, Output } from '@gateway/contracts/administration/operations'
import { GatewayError } from '@gateway/contracts/errors'
import { findAccounts } from '../db/accounts.ts'
import { showAccount, withOne } from '../handlers/show-account.ts'
import type { KeysContext } from '../keys-context.ts'
import { administer } from './administer.ts'

export async function setPlan(context: KeysContext, request: SetPlanRequest): Promise<AccountReply> {
  const { subject, plan, origin } = request
  const plans = context.config.current.plans.map(({ slug }) => slug)
  if (!plans.includes(plan)) return { kind: 'no_such_plan', plans }
  return changeOne(context, subject, 'accounts.update', { plan }, origin)
}

export function setOverage(
  context: KeysContext,
  { subject, overage, origin }: SetOverageRequest,
): Promise<AccountReply> {
  return changeOne(context, subject, 'accounts.update', { overage }, origin)
}

export function topUp(context: KeysContext, { subject, id, amount, origin }: TopUpRequest): Promise<AccountReply> {
  return changeOne(context, subject, 'accounts.topUp', { id, amount }, origin)
}

export async function revokeKey(
  context: KeysContext,
  { keyId, origin }: RevokeKeyByIdRequest,
): Promise<RevokeKeyByIdReply> {
  const reply = await asOperator(context, 'keys.revoke', { key_id: keyId }, origin)
  if (reply.kind === 'refused' && reply.code === 'NOT_FOUND') return { kind: 'unknown' }
  const { account } = outputOf(reply) as Output<'keys.revoke'>
  return { kind: 'revoked', account }
}

export async function resealKeys(context: KeysContext, origin: CallOrigin | undefined): Promise<ResealReply> {
  const reply = await asOperator(context, 'keys.reseal', {}, origin)
  const { resealed, is_complete: isComplete } = outputOf(reply) as Output<'keys.reseal'>
  return { sealedAnew: resealed, isComplete }
}

async function changeOne(
  context: KeysContext,
  subject: string,
  operation: OperationsOf<'keys'>,
  change: Record<string, unknown>,
  origin: CallOrigin | undefined,
): Promise<AccountReply> {
  return withOne(await findAccounts(context.database, subject), async ({ tag }) => {
    outputOf(await asOperator(context, operation, { account_id: tag, ...change }, origin))
    return showAccount(context, { subject: tag })
  })
}

function asOperator(
  context: KeysContext,
  operation: OperationsOf<'keys'>,
  input: Record<string, unknown>,
  /** A command line of release 0.1.0 names none. */
  origin: CallOrigin = { requestId: randomUUID(), address: null, userAgent: null },
): Promise<AdministerReply> {
  return administer(context, { operation, input, credential: { kind: 'operator' }, origin })
}

function outputOf(reply: AdministerReply): unknown {
  if (reply.kind === 'done') return reply.output
  throw new GatewayError(reply.code, reply.message)
}
