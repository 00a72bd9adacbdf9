/**
 * Calls of the administration API on projects and their keys, as an operator or as a person.
 */

import type { AdministerReply } from '@gateway/contracts/administration/envelope'
import {
  operations,
  type Input,
  type OperationName,
  type OperationsOf,
  type Output,
} from '@gateway/contracts/administration/operations'
import type { Operation } from '@gateway/contracts/administration/operation'
import { administer } from '../src/administration/administer.ts'
import { OPERATOR_CALL, type TestCaller } from './keys-service.ts'
import type { KeysContext } from '../src/keys-context.ts'

/** As a client writes it: the schemas fill in defaults. */
type Given<Name extends OperationName> = Partial<Record<keyof Input<Name>, unknown>>

export function replyTo<Name extends OperationsOf<'keys'>>(
  keys: KeysContext,
  operation: Name,
  input: Given<Name>,
  by: TestCaller = OPERATOR_CALL,
): Promise<AdministerReply> {
  return administer(keys, { operation, input, ...by })
}

/** The output, which the row's schema accepts. */
export async function call<Name extends OperationsOf<'keys'>>(
  keys: KeysContext,
  operation: Name,
  input: Given<Name>,
  by: TestCaller = OPERATOR_CALL,
): Promise<Output<Name>> {
  const reply = await replyTo(keys, operation, input, by)
  if (reply.kind === 'refused') throw new Error(`${operation}: ${reply.code} ${reply.message}`)
  const row: Operation = operations[operation]
  return row.output.parse(reply.output) as Output<Name>
}

/** The code of a refusal and its parameter, or `done`. */
export async function refusalOf<Name extends OperationsOf<'keys'>>(
  keys: KeysContext,
  operation: Name,
  input: Given<Name>,
  by?: TestCaller,
): Promise<string> {
  const reply = await replyTo(keys, operation, input, by)
  if (reply.kind === 'done') return 'done'
  return reply.param === undefined ? reply.code : `${reply.code} ${reply.param}`
}
