/**
 * The permitted or denied models of a project. Edges decide by them; the admission store hands them the newest.
 */

import type { ModelPermissions } from '@gateway/contracts/administration/limits'
import type { ModelConfig } from '@gateway/contracts/config'
import { GatewayError } from '@gateway/contracts/errors'
import { findModel } from '@gateway/contracts/models'
import type { ProjectLimits } from '../db/project-limits.ts'
import type { AdministrationCall, AdministrationHandlers } from './call.ts'
import { changeLimits, limitsOf, updatedProject } from './change-limits.ts'
import { readProject } from './project-of-call.ts'

export const modelPermissionHandlers = {
  'modelPermissions.retrieve': async (call, input) =>
    view(expectList(await limitsOf(call, await readProject(call, input)))),

  'modelPermissions.update': async (call, input) => {
    const { mode, model_ids: names } = input
    const models = { mode, ids: resolve(call.context.config.current.models, names) }
    await change(call, input, () => models)
    return view(models)
  },

  'modelPermissions.delete': async (call, input) => {
    await change(call, input, (held) => {
      expectList(held)
      return null
    })
    return { object: 'project.model_permissions.deleted', deleted: true }
  },
} satisfies Partial<AdministrationHandlers>

type Models = ProjectLimits['models']

async function change(
  call: AdministrationCall,
  input: { project_id: string },
  replace: (held: ProjectLimits) => Models,
): Promise<void> {
  await changeLimits(call, input, (held, { version }) => {
    const models = replace(held)
    const entry = { before: { model_permissions: held.models }, after: { model_permissions: models } }
    call.audit(updatedProject(input, entry))
    return { ...held, models, policyVersion: version }
  })
}

/** Canonical ids, each once. */
function resolve(models: readonly ModelConfig[], names: readonly string[]): string[] {
  const ids = names.map((name) => {
    const model = findModel(models, name)
    if (model) return model.id
    throw new GatewayError('VALIDATION_ERROR', `model_ids: the config has no model ${name}`, { param: 'model_ids' })
  })
  return [...new Set(ids)]
}

function expectList({ models }: ProjectLimits): NonNullable<Models> {
  if (models) return models
  throw new GatewayError('NOT_FOUND', 'The project has no list of models: it may call every model of its plan')
}

function view({ mode, ids }: NonNullable<Models>): ModelPermissions {
  return { object: 'project.model_permissions', mode, model_ids: ids }
}
