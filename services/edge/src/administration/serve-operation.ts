/**
 * Serves the calls of the administration API: one route for every row of the table. Path, query and body become one input. The
 * service of the row reads it by the row's schemas.
 *
 * The keys service proves the caller of each call, decides access, and writes the audit log. A call of another service goes to
 * keys first. A change that nobody confirmed may have been made, so no client repeats it on its own.
 */

import type { AdministerReply, AdministrationCredential, CallOrigin } from '@gateway/contracts/administration/envelope'
import { internalCalls } from '@gateway/contracts/administration/internal'
import type { Operation } from '@gateway/contracts/administration/operation'
import { type OperationName, operations } from '@gateway/contracts/administration/operations'
import type { Repairer } from '@gateway/contracts/reconcile-api'
import { readInput } from '@gateway/contracts/administration/read-input'
import { type ErrorCode, GatewayError } from '@gateway/contracts/errors'
import type { Request, Response } from 'express'
import type { CallerLines } from '../auth/caller-lines.ts'
import type { KnownAdminKeys } from '../auth/known-admin-keys.ts'
import type { ClientAddress } from '../http/client-network.ts'
import type { Handler } from '../http/handler.ts'
import { originOf } from '../http/report-refused.ts'
import type { KeysClient, MeteringClient } from '../rpc/service-clients.ts'
import { type CallKeys, type OwnOperationsContext, ownHandlers } from './own-operations.ts'
import { readQuery } from './read-query.ts'

export interface AdministrationContext extends OwnOperationsContext {
  keys: Pick<KeysClient, 'administer'>
  metering: Pick<MeteringClient, 'administer'>
  adminKeys: KnownAdminKeys
  clientAddress: ClientAddress
  callerLines: CallerLines
}

type Input = Record<string, unknown>

export function serveOperation(name: OperationName) {
  const row: Operation = operations[name]
  return (edge: AdministrationContext): Handler<'administrator'> =>
    async (request, response, credential) => {
      const input = inputOf(row, request)
      const origin = originOf(edge.clientAddress, request, response)
      const call = { operation: name, input, credential, origin }
      const serveOne = { edge: serveOwn, metering: callMetering, keys: callKeys, router: callKeys }[row.service]
      const serve = () => serveOne(edge, response, row, call)
      response.json(await (serveOne === callKeys ? serve() : edge.callerLines(call, serve)))
    }
}

type OwnHandler = (edge: OwnOperationsContext, input: Input, callKeys: CallKeys, by: Repairer) => Promise<unknown>

async function serveOwn(edge: AdministrationContext, response: Response, row: Operation, call: Call): Promise<unknown> {
  const { operation, input, credential, origin } = call
  const callInName: CallKeys = (name, of) =>
    callKeys(edge, response, { method: 'GET' }, { ...call, operation: name, input: of })
  // A project in the query has owners of its own.
  const { project } = input
  const ofProject = row.access === 'reader or project owner' && typeof project === 'string' && { project_id: project }
  await callInName('administrators.authorize', { for: operation, ...ofProject })
  const handler = (ownHandlers as unknown as Record<string, OwnHandler>)[operation]!
  const served = handler(edge, readInput(row, input), callInName, { credential, origin })
  return orUnconfirmed(served, response, row.method === 'GET')
}

interface Call {
  operation: string
  input: Input
  credential: AdministrationCredential
  origin: CallOrigin
}

/** Resolves with the output of the call, or throws its refusal. */
async function callKeys(
  { keys, adminKeys }: AdministrationContext,
  response: Response,
  { method }: Pick<Operation, 'method'>,
  call: Call,
): Promise<unknown> {
  const isRead = method === 'GET'
  const reply = await orUnconfirmed(keys.administer(call, isRead), response, isRead)
  adminKeys.note(call.credential, reply.kind === 'done' || reply.code !== 'INVALID_KEY')
  return outputOf(reply)
}

/** Keys says whether the caller may make the call, and audits a change that metering does not refuse. */
async function callMetering(
  edge: AdministrationContext,
  response: Response,
  row: Pick<Operation, 'method'>,
  { operation, input, ...of }: Call,
): Promise<unknown> {
  const { project_id: projectId } = input
  const isRead = row.method === 'GET'
  const authorize = (audited?: Input) => {
    const ofProject = projectId !== undefined && { project_id: projectId }
    const question = { for: operation, ...ofProject, ...(audited && { audited }) }
    return callKeys(edge, response, row, { operation: 'administrators.authorize', input: question, ...of })
  }
  await authorize()
  if (!isRead) {
    const refusal = await refusalBeforehand(edge, operation, input)
    if (refusal) return outputOf(refusal)
    await authorize(input)
  }
  return outputOf(await orUnconfirmed(edge.metering.administer({ operation, input }), response, isRead))
}

/** Metering of a former release knows no such check: its refusal of the change comes behind the row of the audit log. */
async function refusalBeforehand(
  { metering }: AdministrationContext,
  operation: string,
  input: Input,
): Promise<AdministerReply | null> {
  const reply = await metering.administer({ operation: 'changes.check', input: { for: operation, input } })
  const checked = internalCalls['changes.check'].output.safeParse(reply.kind === 'done' && reply.output)
  return checked.success ? checked.data.refusal : null
}

async function orUnconfirmed<Reply>(reply: Promise<Reply>, response: Response, isRead: boolean): Promise<Reply> {
  try {
    return await reply
  } catch (cause) {
    if (isRead || !(cause instanceof GatewayError)) throw cause
    response.setHeader('x-should-retry', 'false')
    throw new GatewayError('SERVICE_UNAVAILABLE', UNCONFIRMED, {}, { cause })
  }
}

const UNCONFIRMED = 'Nobody confirmed the change, which may have been made; look before you make it again'

export function outputOf(reply: AdministerReply): unknown {
  if (reply.kind === 'done') return reply.output
  const { code, message, param, retryAfterMs } = reply
  throw new GatewayError(code satisfies ErrorCode, message, {
    ...(param !== undefined && { param }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  })
}

/** A name of the path counts before the same name of the body. A body that is YAML is a member itself. */
function inputOf(row: Operation, { url, params, body }: Request): Input {
  const at = url.indexOf('?')
  const query = at < 0 ? {} : readQuery(url.slice(at + 1), row.query)
  return { ...(row.isYaml ? { yaml: body } : membersOf(body)), ...query, ...params }
}

function membersOf(body: unknown): Input {
  if (body === undefined) return {}
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Input
  throw new GatewayError('VALIDATION_ERROR', 'body: must be an object')
}
