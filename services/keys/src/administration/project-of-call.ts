/**
 * The project in the path of a call. The frame has decided that the caller may see it.
 */

import { PROJECT_PREFIX } from '@gateway/contracts/administration/projects'
import { GatewayError } from '@gateway/contracts/errors'
import { findProjectRow, lockProjectRow, type ProjectRow } from '../db/projects.ts'
import type { AdministrationCall } from './call.ts'
import { withoutPrefix } from './pages.ts'

interface OfProject {
  project_id: string
}

export async function readProject({ transaction }: AdministrationCall, { project_id }: OfProject): Promise<ProjectRow> {
  return orNotFound(await findProjectRow(transaction, withoutPrefix(PROJECT_PREFIX, project_id)), project_id)
}

/** Locks the project until the commit, archived or not. The caller's membership may have ended while this call waited. */
export async function lockProject(call: AdministrationCall, { project_id }: OfProject): Promise<ProjectRow> {
  const tag = withoutPrefix(PROJECT_PREFIX, project_id)
  const project = orNotFound(await lockProjectRow(call.transaction, tag), project_id)
  await call.confirmAccess()
  return project
}

/** Locks the project for a change, which an archived one refuses. */
export async function lockLiveProject(call: AdministrationCall, input: OfProject): Promise<ProjectRow> {
  const project = await lockProject(call, input)
  if (project.archivedAt) throw archived(input.project_id)
  return project
}

export function archived(id: string): GatewayError {
  return new GatewayError('CONFLICT', `The project ${id} is archived`)
}

/** A person's own account has its one developer key, and no others. */
export async function lockSharedProject(call: AdministrationCall, input: OfProject): Promise<ProjectRow> {
  const project = await lockLiveProject(call, input)
  if (project.kind === 'project') return project
  const sentence = `${input.project_id} is the account of one person, who has a developer key (POST /v1/keys/developer)`
  throw new GatewayError('CONFLICT', `${sentence}; named keys and service accounts belong to shared projects`)
}

function orNotFound(project: ProjectRow | undefined, id: string): ProjectRow {
  if (!project) throw new GatewayError('NOT_FOUND', `There is no project ${id}`)
  return project
}
