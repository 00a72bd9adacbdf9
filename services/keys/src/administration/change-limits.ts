/**
 * A change of a project's limits: under the account's lock, with a new version of the account, and with a note for the announcer.
 * The response waits until the admission store holds the change.
 */

import { GatewayError } from '@gateway/contracts/errors'
import type { AuditEntry } from '../core/audit-entry.ts'
import { raiseVersion } from '../db/accounts.ts'
import { noteProjectChange } from '../db/outbox.ts'
import { type ProjectLimits, readProjectLimits, writeProjectLimits } from '../db/project-limits.ts'
import type { ProjectRow } from '../db/projects.ts'
import type { AdministrationCall } from './call.ts'
import { lockLiveProject } from './project-of-call.ts'

interface OfProject {
  project_id: string
}

export interface ChangedProject extends Pick<ProjectRow, 'tag' | 'plan'> {
  /** The account's, which counts this change. */
  version: number
}

/** Locks the project for a change that admission goes by, and raises its version. */
export async function openChange(call: AdministrationCall, input: OfProject): Promise<ChangedProject> {
  const { tag, kind, plan } = await lockLiveProject(call, input)
  if (kind !== 'project') {
    const sentence = `${input.project_id} is the account of one person, which has the limits of its plan alone`
    throw new GatewayError('CONFLICT', sentence)
  }
  const { context, transaction, afterCommit } = call
  const version = await raiseVersion(transaction, tag)
  const change = await noteProjectChange(transaction, { account: tag, reason: 'limits', version })
  afterCommit(() => context.changes.announce(change))
  return { tag, plan, version }
}

/** Changes the project's row of limits, and returns the changed ones. */
export async function changeLimits(
  call: AdministrationCall,
  input: OfProject,
  change: (held: ProjectLimits, project: ChangedProject) => ProjectLimits,
): Promise<ProjectLimits> {
  const project = await openChange(call, input)
  const changed = change(await limitsOf(call, project), project)
  await writeProjectLimits(call.transaction, project.tag, changed)
  return changed
}

export async function limitsOf(
  { transaction }: AdministrationCall,
  { tag }: Pick<ProjectRow, 'tag'>,
): Promise<ProjectLimits> {
  return (await readProjectLimits(transaction, [tag])).get(tag)!
}

/** OpenAI has no type of its own for these. */
export function updatedProject(
  { project_id: id }: OfProject,
  { before, after }: Required<Pick<AuditEntry, 'before' | 'after'>>,
): AuditEntry {
  return { type: 'project.updated', projectId: id, details: { id, changes_requested: after }, before, after }
}
