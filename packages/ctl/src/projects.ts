/**
 * `projects …`: projects are accounts that a group shares.
 */

import type { Output } from '@gateway/contracts/administration/operations'
import { UsageError } from '@gateway/service/report-fatal'
import { oneLine, renderTable, type CommandResult } from './command-result.ts'
import type { Gateway } from './gateway.ts'
import { dateOf, readAll } from './pages.ts'

type Project = Output<'projects.list'>['data'][number]

export async function createProject(gateway: Gateway, name: string, plan: string | undefined): Promise<CommandResult> {
  const project = await gateway.administer('projects.create', { name, ...(plan !== undefined && { plan }) })
  return { data: project, text: `the project ${project.id} has the plan ${project.plan}` }
}

export async function listProjects(gateway: Gateway, withArchived: boolean): Promise<CommandResult> {
  const projects = await readProjects(gateway, withArchived)
  const text = renderTable<Project>(
    [
      { title: 'id', cell: ({ id }) => id },
      { title: 'name', cell: ({ name }) => name ?? '' },
      { title: 'plan', cell: ({ plan }) => plan },
      { title: 'kind', cell: ({ personal }) => (personal ? 'personal' : 'shared') },
      { title: 'created', cell: (project) => dateOf(project.created_at) },
      { title: 'status', cell: ({ status }) => status },
    ],
    projects,
  )
  return { data: projects, text }
}

export async function archiveProject(gateway: Gateway, named: string): Promise<CommandResult> {
  const id = await findProject(gateway, named)
  const data = await gateway.administer('projects.archive', { project_id: id })
  return { data, text: `the project ${id} is archived: no edge admits a key of it` }
}

const PROJECT_ID = /^proj_[0-9A-Za-z]{8}$/

/** By its id, or by its name where no other project has it. An archived project gives its name up. */
async function findProject(gateway: Gateway, named: string): Promise<string> {
  if (PROJECT_ID.test(named)) return named
  const ofName = (await readProjects(gateway, true)).filter(({ name }) => name === named)
  const live = ofName.filter(({ status }) => status === 'active')
  const [project, ...others] = live.length > 0 ? live : ofName
  if (!project) throw new UsageError(`there is no project ${oneLine(named)}`)
  if (others.length === 0) return project.id
  const lines = [project, ...others].map(
    ({ id, plan, created_at: since }) => `${id}  ${plan}, created ${dateOf(since)}`,
  )
  throw new UsageError(`several projects have this name; give the id of one of them:\n  ${lines.join('\n  ')}`)
}

function readProjects(gateway: Gateway, withArchived: boolean): Promise<Project[]> {
  return readAll((after) =>
    gateway.administer('projects.list', { limit: 100, after, include_archived: String(withArchived) }),
  )
}
