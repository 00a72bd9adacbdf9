/**
 * A call of the administration API. The frame proves the credential, decides access and reads the input. The handler acts. The frame
 * writes the audit log, commits, makes the change hold everywhere, and replies.
 *
 * The change and its rows in the audit log are one transaction, so neither is ever stored without the other.
 */

import type { AuditEventType } from '@gateway/contracts/administration/audit-logs'
import { administrator, type AdministerReply, type AdministerRequest } from '@gateway/contracts/administration/envelope'
import { internalCalls } from '@gateway/contracts/administration/internal'
import type { Access, Operation } from '@gateway/contracts/administration/operation'
import { PROJECT_PREFIX } from '@gateway/contracts/administration/projects'
import { isOperation, operations, type OperationName } from '@gateway/contracts/administration/operations'
import { GatewayError } from '@gateway/contracts/errors'
import { failpoint } from '@gateway/service/failpoint'
import { decideAccess, projectRoleOf, type MembershipRole, type AccessFacts } from '../core/access.ts'
import { type AuditEntry, changesNothing, writeAuditEntry } from '../core/audit-entry.ts'
import { readInput, refuseUnstorable } from '@gateway/contracts/administration/read-input'
import { appendToAuditLog } from '../db/audit-log.ts'
import { findProject } from '../db/memberships.ts'
import { listProjectNames } from '../db/projects.ts'
import type { KeysDatabase } from '../db/tables.ts'
import type { KeysContext } from '../keys-context.ts'
import type { AdministrationCall, AdministrationCaller } from './call.ts'
import { accountsOfRemoval, announceLeft } from './confirm-removal.ts'
import { expectLiveAdminKey, proveCredential } from './credentials.ts'
import { handlers } from './handlers.ts'
import { withoutPrefix } from './pages.ts'

/** A handler as the frame calls it: the row's schemas have read the input. */
type Handler = (call: AdministrationCall, input: Record<string, unknown>) => Promise<unknown>

/** These end keys. They use connections that no other work holds. */
const URGENT: ReadonlySet<string> = new Set<OperationName>([
  'projects.archive',
  'serviceAccounts.delete',
  'apiKeys.rotate',
  'apiKeys.delete',
  'adminKeys.delete',
  'projectUsers.delete',
  'projectGroups.delete',
  'users.delete',
  'keys.revoke',
])

function isUrgent({ operation, input }: AdministerRequest): boolean {
  return URGENT.has(operation) || (operation === 'accounts.update' && input['suspended'] === true)
}

export async function administer(context: KeysContext, request: AdministerRequest): Promise<AdministerReply> {
  try {
    return { kind: 'done', output: await serve(context, request) }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    if (error.cause !== undefined) context.logger.warn({ err: error }, 'an administration call was refused')
    const { code, message, details } = error
    return { kind: 'refused', code, message, param: details.param, retryAfterMs: details.retryAfterMs }
  }
}

async function serve(context: KeysContext, request: AdministerRequest): Promise<unknown> {
  // An edge has refused it: it is for the audit log alone.
  if (request.credential.kind === 'refused') return proveCredential(context, request)
  const { administrationTurns: turns, urgent, database, inTurn } = context
  if (!turns.knows(request)) {
    await expectLiveAdminKey(context, request)
    turns.note(request, true)
  }
  const { output, announcements, refusal } = isUrgent(request)
    ? await endKey(await turns.inTurn('urgent', request, () => openAction({ ...context, database: urgent }, request)))
    : await turns.inTurn('usual', request, async () => {
        if (request.operation === 'administrators.authorize') return authorize(context, request)
        if (request.operation === 'projects.names') return nameProjects(context, request)
        const action = await openAction(context, request)
        if (action.row.method === 'GET') return act(context, database, action)
        const run = (transaction: KeysDatabase) => act(context, transaction, action)
        return orGone(context, action, database.transaction().execute(run))
      })
  if (isChange(request)) failpoint('keys.administration-committed')
  await announce(announcements)
  if (refusal) throw refusal
  return output

  function endKey(action: Action): Promise<Acted> {
    const run = (transaction: KeysDatabase) => act(context, transaction, action)
    return inTurn(queueOf(request), () => orGone(context, action, urgent.transaction().execute(run)))
  }
}

function isChange({ operation }: AdministerRequest): boolean {
  return isOperation(operation) && operations[operation].method !== 'GET'
}

/** Proves the caller and the caller's access. */
async function openAction(context: KeysContext, request: AdministerRequest): Promise<Action> {
  const { operation, input } = request
  const caller = await prove(context, request)
  const handler = Object.hasOwn(handlers, operation)
    ? (handlers as unknown as Record<string, Handler>)[operation]
    : undefined
  if (!handler || !isOperation(operation)) throw noOperation(operation)
  const row: Operation = operations[operation]
  const projectRole = await expectAccess(context, caller, row, input)
  return { row, request, caller, projectRole, handler, input: readInput(row, input) }
}

async function prove(context: KeysContext, request: AdministerRequest): Promise<AdministrationCaller> {
  const { administrationTurns: turns } = context
  try {
    const caller = await proveCredential(context, request)
    turns.note(request, true)
    if (caller.kind === 'system' && request.operation !== TOP_UP) throw new GatewayError('FORBIDDEN', TOP_UPS_ALONE)
    return caller
  } catch (error) {
    if (error instanceof GatewayError) turns.note(request, false)
    throw error
  }
}

const TOP_UP: OperationName = 'accounts.topUp'
const TOP_UPS_ALONE = 'A payment system makes top-ups alone'

interface Action {
  row: Operation
  request: AdministerRequest
  caller: AdministrationCaller
  projectRole: MembershipRole | null
  handler: Handler
  input: Record<string, unknown>
}

type Announcement = () => Promise<void>

interface Acted {
  output: unknown
  announcements: Announcement[]
  /** The reply, once the announcements are made. */
  refusal?: GatewayError
}

/** Nobody may have confirmed the removal of a thing that is not found: before the reply it holds everywhere. */
async function orGone(context: KeysContext, { row, input }: Action, acted: Promise<Acted>): Promise<Acted> {
  try {
    return await acted
  } catch (refusal) {
    const isGone = row.method === 'DELETE' && refusal instanceof GatewayError && refusal.code === 'NOT_FOUND'
    if (!isGone) throw refusal
    const announceEarlier = async () => announceLeft(context, await accountsOfRemoval(context, input))
    return { output: undefined, announcements: [announceEarlier], refusal }
  }
}

async function act(
  context: KeysContext,
  transaction: KeysDatabase,
  { row, request, caller, projectRole, handler, input }: Action,
): Promise<Acted> {
  const { origin } = request
  const { kind, id, email, createdBy: userId } = caller
  const actor = { kind, id, email, userId }
  const entries: string[] = []
  const announcements: Announcement[] = []
  const output = await handler(
    {
      context,
      transaction,
      caller,
      projectRole,
      origin,
      async confirmAccess() {
        // No membership gives an owner of the organization access.
        if (caller.role !== 'owner') await expectAccess({ database: transaction }, caller, row, request.input)
      },
      audit(entry) {
        if (!changesNothing(entry)) entries.push(writeAuditEntry(entry, actor, origin))
      },
      afterCommit: (run) => void announcements.push(run),
    },
    input,
  )
  await appendToAuditLog(transaction, entries)
  failpoint('keys.audit-written')
  return { output, announcements }
}

/** One that fails keeps no other one back. */
async function announce(announcements: readonly Announcement[]): Promise<void> {
  const outcomes = await Promise.allSettled(announcements.map((run) => run()))
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
}

/** For a call that another service serves. */
async function authorize(context: KeysContext, request: AdministerRequest): Promise<Acted> {
  const caller = await prove(context, request)
  const { for: operation, project_id, audited } = internalCalls['administrators.authorize'].input.parse(request.input)
  if (!isOperation(operation)) throw noOperation(operation)
  await expectAccess(context, caller, operations[operation], { project_id })
  const type = AUDITED[operation]
  if (audited && type) {
    const details = readInput(operations[operation], audited)
    await auditElsewhere(context, request, caller, { type, details })
  }
  return { output: administrator.parse({ id: caller.id, role: caller.role }), announcements: [] }
}

/** For the figures of the whole organization. */
async function nameProjects(context: KeysContext, request: AdministerRequest): Promise<Acted> {
  const { role } = await prove(context, request)
  if (role === null) throw new GatewayError('FORBIDDEN', MISSING.reader)
  const { project_ids: ids } = internalCalls['projects.names'].input.parse(request.input)
  const tags = ids.map((id) => withoutPrefix(PROJECT_PREFIX, id))
  const named = await listProjectNames(context.database, tags)
  const names = Object.fromEntries(named.map(({ account, name }) => [`${PROJECT_PREFIX}${account}`, name]))
  return { output: { names }, announcements: [] }
}

/** Another service makes the change after this row is stored. */
async function auditElsewhere(
  { database }: Pick<KeysContext, 'database'>,
  { origin }: AdministerRequest,
  { kind, id, email, createdBy: userId }: AdministrationCaller,
  entry: AuditEntry,
): Promise<void> {
  const row = writeAuditEntry(entry, { kind, id, email, userId }, origin)
  await database.transaction().execute((transaction) => appendToAuditLog(transaction, [row]))
}

/** Changes that metering makes. */
const AUDITED: Partial<Record<OperationName, AuditEventType>> = {
  'exports.run': 'export.requested',
  'webhooks.enable': 'webhook.enabled',
  'webhooks.redeliver': 'webhook.redelivered',
}

async function expectAccess(
  { database }: Pick<KeysContext, 'database'>,
  caller: AdministrationCaller,
  { access, path }: { access: Access; path: string },
  { project_id: projectId }: Record<string, unknown>,
): Promise<MembershipRole | null> {
  // Its one call has been checked.
  if (caller.kind === 'system') return null
  refuseUnstorable({ project_id: projectId })
  const isInQuery = access === 'reader or project owner' && projectId !== undefined
  const isOfProject = isInQuery || path.includes('{project_id}')
  const member = caller.person && { userId: caller.id, ...caller.person }
  const project = isOfProject ? await findProject(database, String(projectId), member) : null
  const facts: AccessFacts = { role: caller.role, project }
  const decision = decideAccess(access, facts)
  if (decision === 'allowed') return projectRoleOf(facts)
  if (decision === 'not_found') throw new GatewayError('NOT_FOUND', `There is no project ${String(projectId)}`)
  throw new GatewayError('FORBIDDEN', MISSING[access])
}

const MISSING: Record<Access, string> = {
  'signed in': 'Sign in',
  reader: "This call needs the role of a reader or of an owner of the organization, by the token's claims",
  owner: "This call needs the role of an owner of the organization, by the token's claims",
  'project reader': 'This call needs a membership of the project',
  'project member': 'This call needs a membership of the project',
  'project owner': 'This call needs an owner of the project',
  'reader or project owner':
    "This call needs the role of a reader of the organization, by the token's claims, or an owner of the `project`",
}

function noOperation(operation: string): GatewayError {
  return new GatewayError('NOT_FOUND', `There is no operation ${operation}`)
}

/** Calls on one project wait for each other before they take a connection. */
function queueOf({
  operation,
  input: { project_id: projectId, account_id: accountId, key_id: keyId },
}: AdministerRequest) {
  const of = projectId ?? accountId ?? keyId
  return { issuer: 'administration', subject: typeof of === 'string' ? of : operation }
}
