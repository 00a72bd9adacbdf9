/**
 * Finds parts of a configuration that no request can reach. Nothing here keeps a gateway from running. It looks only at
 * sections of the file itself.
 */

import type { ConfigProblem } from './check-config.ts'
import { LEGACY_MODEL_IDS } from './default-config.ts'
import { defaultModelId, findModel, planIncludes } from './models.ts'
import type { AutoModelConfig, ConfigSections, PoolConfig } from './config.ts'

export function findOversights(config: ConfigSections, named: ReadonlySet<keyof ConfigSections>): ConfigProblem[] {
  return [
    ...(named.has('backends') ? unusedBackends(config) : []),
    ...(named.has('pools') ? [...unreachedPools(config), ...config.pools.flatMap(repeatedTargets)] : []),
    ...(named.has('models') ? [...lostDefault(config), ...lostLegacyModels(config)] : []),
    ...(named.has('models') || named.has('plans') ? modelsWithoutPlan(config, named) : []),
    ...(named.has('models') || named.has('plans') ? plansWithoutLanes(config, named) : []),
  ]
}

function unusedBackends({ backends, pools }: ConfigSections): ConfigProblem[] {
  const used = new Set(pools.flatMap(({ targets }) => targets.map(({ backend }) => backend)))
  return backends.flatMap(({ id }, index) => {
    if (used.has(id)) return []
    return [{ path: ['backends', index, 'id'], message: `"${id}" is never called: no pool has it as a target` }]
  })
}

function unreachedPools({ pools, models }: ConfigSections): ConfigProblem[] {
  const served = new Set(models.flatMap((model) => (model.type === 'auto' ? [] : [model.pool])))
  return pools.flatMap(({ id }, index) => {
    if (served.has(id)) return []
    return [{ path: ['pools', index, 'id'], message: `"${id}" is never reached: no model is served by it` }]
  })
}

function repeatedTargets({ targets }: PoolConfig, poolIndex: number): ConfigProblem[] {
  const nameOf = ({ backend, model }: PoolConfig['targets'][number]) => `${backend} ${model}`
  return targets.flatMap((target, index) => {
    const first = targets.findIndex((other) => nameOf(other) === nameOf(target))
    if (first === index) return []
    const message = `is the target that stands at targets[${first}] already`
    return [{ path: ['pools', poolIndex, 'targets', index], message }]
  })
}

/** Many clients name no model. */
function lostDefault({ models }: ConfigSections): ConfigProblem[] {
  const id = defaultModelId(models, 'chat')
  if (findModel(models, id)) return []
  const message =
    `lack "${id}", so requests that name no model are answered with 404: add it, ` +
    'say `default: true` on another chat model, or begin the file with `extends: default`'
  return [{ path: ['models'], message }]
}

function lostLegacyModels({ models }: ConfigSections): ConfigProblem[] {
  const lost = LEGACY_MODEL_IDS.filter((legacy) => !findModel(models, legacy))
  if (lost.length === 0) return []
  const message =
    `lack ${lost.join(', ')}, which clients may still ask for: ` +
    'begin the file with `extends: default` to keep legacy ids where their replacements are served'
  return [{ path: ['models'], message }]
}

function modelsWithoutPlan(
  { models, plans }: ConfigSections,
  named: ReadonlySet<keyof ConfigSections>,
): ConfigProblem[] {
  return models.flatMap((model, index) => {
    if (plans.some((plan) => planIncludes(plan, model))) return []
    const message = `"${model.id}" is refused to everybody: no plan includes it`
    return [{ path: named.has('models') ? ['models', index, 'id'] : ['plans'], message }]
  })
}

/** A plan that includes Auto and none of Auto's lanes. */
function plansWithoutLanes(
  { models, plans }: ConfigSections,
  named: ReadonlySet<keyof ConfigSections>,
): ConfigProblem[] {
  const autos = models.filter((model): model is AutoModelConfig => model.type === 'auto')
  return plans.flatMap((plan, index) =>
    autos.flatMap((auto) => {
      const lanes = models.filter(({ id }) => auto.lanes.includes(id))
      if (!planIncludes(plan, auto) || lanes.some((lane) => planIncludes(plan, lane))) return []
      const message = `the plan "${plan.slug}" includes "${auto.id}" and none of its lanes, so it is always refused there`
      return [{ path: named.has('plans') ? ['plans', index, 'slug'] : ['models'], message }]
    }),
  )
}
