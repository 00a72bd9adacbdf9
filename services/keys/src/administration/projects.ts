/**
 * Projects: listed, created, renamed and archived. Archiving ends all keys of a project in one write of the admission store.
 */

import { PROJECT_PREFIX } from '@gateway/contracts/administration/projects'
import type { Project } from '@gateway/contracts/administration/projects'
import { GatewayError } from '@gateway/contracts/errors'
import { newAccountTag } from '../core/new-key.ts'
import { defaultPlan } from '../core/plans.ts'
import { raiseVersion } from '../db/accounts.ts'
import { readMemberships } from '../db/memberships.ts'
import { noteProjectChange } from '../db/outbox.ts'
import { endProjectKeys } from '../db/project-keys.ts'
import {
  archiveProject,
  findProjectRow,
  insertProject,
  listProjectRows,
  renameProject,
  type ProjectRow,
} from '../db/projects.ts'
import type { AdministrationCall, AdministrationHandlers } from './call.ts'
import { toPage, unixSeconds, withoutPrefix } from './pages.ts'
import { lockLiveProject, lockProject, readProject } from './project-of-call.ts'

function view({ tag, kind, name, plan, createdAt, archivedAt }: ProjectRow): Project {
  return {
    id: `${PROJECT_PREFIX}${tag}`,
    object: 'organization.project',
    name,
    created_at: unixSeconds(createdAt),
    archived_at: archivedAt && unixSeconds(archivedAt),
    status: archivedAt ? 'archived' : 'active',
    personal: kind === 'developer',
    plan,
  }
}

export const projectHandlers = {
  'projects.list': async (call, { after, limit, include_archived: withArchived }) => {
    const { transaction, caller } = call
    const { role, person, id: userId } = caller
    const own = role === null && person ? await readMemberships(transaction, { userId, ...person }) : null
    const tag = after && withoutPrefix(PROJECT_PREFIX, after)
    const isForeign = tag !== undefined && own !== null && !own.has(tag)
    const among = own && [...own.keys()]
    const page = isForeign ? null : await listProjectRows(transaction, { after: tag, limit, withArchived, among })
    return toPage(page, view)
  },

  'projects.create': async (call, { name, plan }) => {
    const tag = newAccountTag()
    await insertProject(call.transaction, { tag, name, plan: planOf(call, plan) })
    const project = view((await findProjectRow(call.transaction, tag))!)
    const { id } = project
    call.audit({
      type: 'project.created',
      projectId: id,
      details: { id, data: { name, title: name, plan: project.plan } },
    })
    return project
  },

  'projects.retrieve': async (call, input) => view(await readProject(call, input)),

  'projects.update': async (call, input) => {
    const project = await lockLiveProject(call, input)
    const { name } = input
    if (name === undefined || name === project.name) return view(project)
    await renameProject(call.transaction, project.tag, name)
    call.audit({
      type: 'project.updated',
      projectId: input.project_id,
      details: { id: input.project_id, changes_requested: { name, title: name } },
      before: { name: project.name },
      after: { name },
    })
    return view({ ...project, name })
  },

  'projects.archive': async (call, input) => {
    const project = await lockProject(call, input)
    const { transaction, context } = call
    if (project.kind !== 'project') {
      throw new GatewayError('CONFLICT', `${input.project_id} is the account of one person and cannot be archived`)
    }
    const version = project.archivedVersion ?? (await endProject(call, project))
    // The first call may have failed before its announcement.
    const change = await noteProjectChange(transaction, { account: project.tag, reason: 'archived', version })
    call.afterCommit(() => context.changes.announce(change))
    return view((await findProjectRow(transaction, project.tag))!)
  },
} satisfies Partial<AdministrationHandlers>

async function endProject({ transaction, audit }: AdministrationCall, { tag }: ProjectRow): Promise<number> {
  const version = await raiseVersion(transaction, tag)
  const ended = await endProjectKeys(transaction, { account: tag }, version)
  await archiveProject(transaction, tag, version)
  const id = `${PROJECT_PREFIX}${tag}`
  audit({
    type: 'project.archived',
    projectId: id,
    details: { id },
    before: { status: 'active', keys: ended.length },
    after: { status: 'archived', keys: 0 },
  })
  return version
}

/** The plan of a new project. */
function planOf({ context }: AdministrationCall, slug: string | undefined): string {
  const { plans } = context.config.current
  if (slug === undefined) return defaultPlan(plans).slug
  const slugs = plans.filter(({ guest }) => !guest).map((plan) => plan.slug)
  if (slugs.includes(slug)) return slug
  throw new GatewayError('VALIDATION_ERROR', `plan: must be one of ${slugs.join(', ')}`, { param: 'plan' })
}
