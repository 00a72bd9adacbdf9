/**
 * The caller's rights, projects with their spending and counts, and the effect of a change before it is made.
 */

import { PROJECT_PREFIX } from '@gateway/contracts/administration/projects'
import type { ProjectView } from '@gateway/contracts/administration/project-views'
import { GatewayError } from '@gateway/contracts/errors'
import { fromPlanUnit, toPlanUnit } from '@gateway/pricing/charge'
import { findOwnAccount } from '../db/accounts.ts'
import { findLivingKey } from '../db/keys.ts'
import { findPersonalKey } from '../db/personal-keys.ts'
import {
  countMemberships,
  findOwnProjects,
  findProjectView,
  keysOfPerson,
  keysThatEnd,
  keysThatEndWithGroup,
  listProjectViews,
  type PlanOfView,
  type ProjectViewRow,
} from '../db/project-views.ts'
import type { AdministrationCall, AdministrationCaller, AdministrationHandlers } from './call.ts'
import { switchOverage } from './accounts.ts'
import { toPage, unixSeconds, withoutPrefix } from './pages.ts'
import { lockLiveProject, readProject } from './project-of-call.ts'
import { readUser } from './users.ts'

const KEY_PREFIX = 'key_'

export const projectViewHandlers = {
  'me.retrieve': async ({ transaction, caller }) => {
    const { id, name, email, role } = caller
    const member = memberOf(caller)
    const { personal, shared } = member ? await findOwnProjects(transaction, member) : { personal: null, shared: 0 }
    const personalId = personal && `${PROJECT_PREFIX}${personal}`
    return { object: 'me', id, name, email, role, personal_project_id: personalId, projects: shared }
  },

  'projectViews.list': async (call, input) => {
    const { caller, transaction } = call
    const { after, limit, search, order, include_archived: withArchived, include_personal: withPersonal } = input
    const member = memberOf(caller)
    const page = await listProjectViews(transaction, {
      plans: plansOf(call),
      member,
      after: after && withoutPrefix(PROJECT_PREFIX, after),
      limit,
      search,
      withArchived,
      withPersonal,
      mine: input.mine || caller.role === null,
      order,
    })
    return toPage(page, (row) => view(call, row))
  },

  'projectViews.retrieve': async (call, input) => {
    const { tag } = await readProject(call, input)
    return withCounts(call, await rowOf(call, tag))
  },

  'projectViews.update': async (call, { overage, ...input }) => {
    const { tag } = await lockLiveProject(call, input)
    const fault = faultOfSwitch(call, await rowOf(call, tag), overage)
    if (fault !== null) throw new GatewayError('FORBIDDEN', fault)
    await switchOverage(call, tag, overage)
    return withCounts(call, await rowOf(call, tag))
  },

  'projectViews.preview': async (call, input) => {
    const { tag: account, kind } = await readProject(call, input)
    const { api_key_id: apiKeyId, service_account_id: serviceAccount, user_id: userId, group_id: groupId } = input
    if ([apiKeyId, serviceAccount, userId, groupId].filter((id) => id !== undefined).length > 1) {
      throw new GatewayError('VALIDATION_ERROR', 'name one of api_key_id, service_account_id, user_id and group_id')
    }
    const keyId = apiKeyId && withoutPrefix(KEY_PREFIX, apiKeyId)
    if (kind === 'developer') return { object: 'project.preview', ...(await endOfPersonalKey(call, account, keyId)) }
    const of = {
      account,
      ...(keyId !== undefined && { keyId }),
      ...(serviceAccount !== undefined && { serviceAccount }),
      ...(userId !== undefined && { userId }),
    }
    const keys =
      groupId === undefined
        ? await keysThatEnd(call.transaction, of)
        : await keysThatEndWithGroup(call.transaction, account, groupId)
    const open = await countOpen(call, account, new Set(keys))
    return { object: 'project.preview', keys: keys.length, open_requests: open }
  },

  'users.preview': async (call, { user_id: id }) => {
    const user = await readUser(call, id)
    const own = await findOwnAccount(call.transaction, user)
    const ended = [...(await keysOfPerson(call.transaction, id))].map(async ([account, keys]) => ({
      keys: keys.length,
      open_requests: await countOpen(call, account, new Set(keys)),
    }))
    if (own) ended.push(endOfPersonalKey(call, own.tag, undefined))
    const parts = await Promise.all(ended)
    const open = parts.map(({ open_requests: count }) => count)
    return {
      object: 'user.preview',
      keys: parts.reduce((sum, { keys }) => sum + keys, 0),
      open_requests: open.includes(null) ? null : open.reduce<number>((sum, count) => sum + count!, 0),
      projects: await countMemberships(call.transaction, id),
    }
  },
} satisfies Partial<AdministrationHandlers>

function memberOf({ id: userId, person }: AdministrationCaller) {
  return person && { userId, ...person }
}

function plansOf({ context }: AdministrationCall): PlanOfView[] {
  return context.config.current.plans.map(({ slug, unit, limit }) => ({ slug, unit, limit: fromPlanUnit(limit, unit) }))
}

type CountedRow = NonNullable<Awaited<ReturnType<typeof findProjectView>>>

/** Of a project that is there. */
async function rowOf(call: AdministrationCall, tag: string): Promise<CountedRow> {
  const { transaction, caller } = call
  return (await findProjectView(transaction, { plans: plansOf(call), member: memberOf(caller) }, tag))!
}

function withCounts(call: AdministrationCall, row: CountedRow) {
  const { serviceAccounts, users, groups } = row
  return { ...view(call, row), service_accounts: serviceAccounts, users, groups }
}

/** The next step of an owner whose plan does not permit the switch; null where it does. An operator needs no plan for it. */
function faultOfSwitch(
  { caller, context }: AdministrationCall,
  { plan: slug, hardLimit }: ProjectViewRow,
  overage: boolean,
): string | null {
  if (caller.role === 'owner') return null
  const permits = context.config.current.plans.find((plan) => plan.slug === slug)?.ownersSwitchOverage
  if (permits === undefined) return `The plan ${slug} leaves overage to the operator: ask for it, or for a top-up`
  if (permits === 'always' || hardLimit !== null || !overage) return null
  return `The plan ${slug} permits overage below a spend limit: ask the operator to set the project's spend limit first`
}

/** Null: the caller may not switch it. */
function switchOf(call: AdministrationCall, row: ProjectViewRow): ProjectView['overage_switch'] {
  const { overage, planLimit, hardLimit, unit, archivedAt, membership } = row
  const isOwner = call.caller.role === 'owner' || membership === 'owner'
  if (!isOwner || archivedAt !== null || faultOfSwitch(call, row, !overage) !== null) return null
  return { beyond: toPlanUnit(planLimit, unit), up_to: hardLimit === null ? null : toPlanUnit(hardLimit, unit) }
}

function view(call: AdministrationCall, row: ProjectViewRow): ProjectView {
  const { role } = call.caller
  const { tag, kind, name, plan, unit, overage, createdAt, archivedAt, isSuspended, keys, membership } = row
  return {
    id: `${PROJECT_PREFIX}${tag}`,
    object: 'project',
    name,
    created_at: unixSeconds(createdAt),
    archived_at: archivedAt && unixSeconds(archivedAt),
    status: archivedAt ? 'archived' : isSuspended ? 'suspended' : 'active',
    personal: kind === 'developer',
    plan,
    unit,
    overage,
    spent: toPlanUnit(row.spent, unit),
    ...limitOf(row),
    overage_switch: switchOf(call, row),
    keys,
    your_role: role === 'owner' ? 'owner' : membership,
  }
}

/** The hard limit holds with overage, too. */
function limitOf({ overage, planLimit, hardLimit, unit }: ProjectViewRow): Pick<ProjectView, 'limit' | 'limit_of'> {
  if (hardLimit !== null && (overage || hardLimit < planLimit)) {
    return { limit: toPlanUnit(hardLimit, unit), limit_of: 'spend_limit' }
  }
  return overage ? { limit: null, limit_of: null } : { limit: toPlanUnit(planLimit, unit), limit_of: 'plan' }
}

/** A personal account has one live key at most: all its open requests are of that key. */
async function endOfPersonalKey(call: AdministrationCall, account: string, keyId: string | undefined) {
  const living = await findLivingKey(call.transaction, account)
  const isMeant = living !== undefined && (keyId === undefined || (await isLive(call, account, keyId)))
  return { keys: isMeant ? 1 : 0, open_requests: isMeant ? await countOpen(call, account, null) : 0 }
}

async function isLive({ transaction }: AdministrationCall, account: string, keyId: string): Promise<boolean> {
  const key = await findPersonalKey(transaction, account, keyId)
  return key !== undefined && key.deactivatedAt === null
}

/** Running requests of these keys, or of all; null while the admission store is away. */
async function countOpen(
  { context }: AdministrationCall,
  account: string,
  keys: ReadonlySet<string> | null,
): Promise<number | null> {
  if (keys?.size === 0) return 0
  const held = await context.admission.inspect(account).catch((error: unknown) => {
    context.logger.warn({ err: error }, 'the open requests of an account could not be counted')
    return null
  })
  if (held === null) return null
  return held.requests.filter(({ state, lapsed, keyId }) => {
    return state === 'running' && !lapsed && (keys === null || (keyId !== null && keys.has(keyId)))
  }).length
}
