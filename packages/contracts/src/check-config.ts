/**
 * Checks across the sections of a configuration, which the schema cannot see. Returns every problem at once, each with
 * the path to the field that an operator has to change.
 */

import type { Capability } from './job.ts'
import { servedKind } from './models.ts'
import {
  DEFAULT_DIMENSIONS,
  type AutoModelConfig,
  type ConfigSections,
  type ModelConfig,
  type PlanConfig,
  type PoolConfig,
  type ServedModelConfig,
} from './config.ts'

export type ConfigPath = (string | number)[]

export interface ConfigProblem {
  path: ConfigPath
  /** The fault and the expectation, without the path: `is not the id of a backend`. */
  message: string
}

type Section = keyof ConfigSections

/** The plan that the contract promises to guest keys. */
const GUEST_PLAN_SLUG = 'guest-device'

/** A limit with its top-ups and overage, in nano-dollars, must stay far below 2^53. */
const MAX_USD_LIMIT = 1_000_000

/** `named`: the sections that the file holds; the others are defaults, whose faults lie in a replaced section. */
export function checkConfig(config: ConfigSections, named: ReadonlySet<Section> = ALL_SECTIONS): ConfigProblem[] {
  return [
    ...duplicates('backends', config.backends, 'id'),
    ...duplicates('pools', config.pools, 'id'),
    ...duplicates('models', config.models, 'id'),
    ...duplicates('plans', config.plans, 'slug'),
    ...(named.has('pools') ? poolProblems(config) : defaultPoolProblems(config)),
    ...(config.models.length === 0 ? [nothingServed] : []),
    ...config.models.flatMap((model, index) => modelProblems(model, ['models', index], config)),
    ...defaultModelProblems(config.models),
    ...aliasProblems(config.models),
    ...planProblems(config.plans),
  ]
}

const ALL_SECTIONS: ReadonlySet<Section> = new Set(['backends', 'pools', 'models', 'plans'])

function duplicates<Field extends string>(
  section: Section,
  items: Record<Field, string>[],
  field: Field,
): ConfigProblem[] {
  const firstIndex = new Map<string, number>()
  return items.flatMap((item, index) => {
    const first = firstIndex.get(item[field])
    if (first === undefined) {
      firstIndex.set(item[field], index)
      return []
    }
    const message = `"${item[field]}" is already taken by ${section}[${first}]; each ${field} must be unique`
    return [{ path: [section, index, field], message }]
  })
}

function poolProblems({ pools, backends }: ConfigSections): ConfigProblem[] {
  const known = backends.map((backend) => backend.id)
  return pools.flatMap((pool, poolIndex) =>
    pool.targets.flatMap((target, targetIndex) => {
      if (known.includes(target.backend)) return []
      const path = ['pools', poolIndex, 'targets', targetIndex, 'backend']
      return [{ path, message: `"${target.backend}" is not the id of a backend; ${expectedOneOf(known)}` }]
    }),
  )
}

/** The file names its own backends but no pools: the default pools speak of backends that are gone. */
function defaultPoolProblems({ pools, backends }: ConfigSections): ConfigProblem[] {
  const known = new Set(backends.map((backend) => backend.id))
  const missing = new Set(pools.flatMap((pool) => pool.targets.map((target) => target.backend)))
  if ([...missing].every((id) => known.has(id))) return []
  const message =
    'are named without pools: the default pools speak of the simulated backends only, so add a `pools` section ' +
    `that says which of your backends serves which model (see deploy/config/examples)`
  return [{ path: ['backends'], message }]
}

/** The file names its own pools but no models, and none of the pools is one that a default model is served by. */
const nothingServed: ConfigProblem = {
  path: ['pools'],
  message: 'serve none of the default models: name a pool as those do (spark, bolt, nova, …) or add a `models` section',
}

function modelProblems(model: ModelConfig, path: ConfigPath, config: ConfigSections): ConfigProblem[] {
  const problems = model.type === 'auto' ? autoProblems(model, path, config) : servedProblems(model, path, config)
  const { replacement, deprecatedAt, sunsetAt } = model
  if (replacement !== undefined) {
    const other = config.models.find(({ id }) => id === replacement)
    const fault = !other ? 'is not the id of a model' : other === model ? 'is the model itself' : null
    if (fault) problems.push({ path: [...path, 'replacement'], message: `"${replacement}" ${fault}` })
  }
  if (sunsetAt !== undefined && deprecatedAt !== undefined && sunsetAt < deprecatedAt) {
    problems.push({ path: [...path, 'sunsetAt'], message: `must not be before deprecatedAt (${deprecatedAt})` })
  }
  if (model.guest && model.availability === 'paid') {
    problems.push({ path: [...path, 'guest'], message: 'cannot be true where availability is paid: guests do not pay' })
  }
  return problems
}

function defaultModelProblems(models: ModelConfig[]): ConfigProblem[] {
  return models.flatMap((model, index) => {
    if (!model.default) return []
    const path = ['models', index, 'default']
    const kind = servedKind(model)
    if (kind === 'embeddings') return [{ path, message: 'has no meaning here: embeddings requests name their model' }]
    const first = models.findIndex((other) => other.default && servedKind(other) === kind)
    if (first === index) return []
    return [{ path, message: `may be true on one ${kind} model only, and models[${first}] is that already` }]
  })
}

/** A name has one model. */
function aliasProblems(models: ModelConfig[]): ConfigProblem[] {
  const taken = new Map(models.map(({ id }, index) => [id, `the id of models[${index}]`]))
  return models.flatMap(({ aliases, listed }, index) => {
    const problems: ConfigProblem[] = aliases.flatMap((alias, at) => {
      const owner = taken.get(alias)
      if (owner !== undefined) return [{ path: ['models', index, 'aliases', at], message: `"${alias}" is ${owner}` }]
      taken.set(alias, `already an alias of models[${index}]`)
      return []
    })
    if (listed && aliases.length === 0) {
      problems.push({ path: ['models', index, 'listed'], message: 'has no meaning here: the model has no aliases' })
    }
    return problems
  })
}

function dimensionProblems({ type, dimensions, minDimensions }: ServedModelConfig, path: ConfigPath): ConfigProblem[] {
  if (dimensions === undefined && minDimensions === undefined) return []
  const field = dimensions === undefined ? 'minDimensions' : 'dimensions'
  if (type !== 'embeddings') return [{ path: [...path, field], message: 'belongs to embeddings models only' }]
  const longest = dimensions ?? DEFAULT_DIMENSIONS
  if (minDimensions === undefined || minDimensions <= longest) return []
  return [{ path: [...path, 'minDimensions'], message: `must not be more than dimensions (${longest})` }]
}

function autoProblems(model: AutoModelConfig, path: ConfigPath, config: ConfigSections): ConfigProblem[] {
  const named: [ConfigPath, string][] = (model.own ?? []).map(({ lane }, index) => [
    [...path, 'own', index, 'lane'],
    lane,
  ])
  if (model.shadow !== undefined) named.push([[...path, 'shadow'], model.shadow])
  const strays = named.filter(([, lane]) => !model.lanes.includes(lane))
  return [
    ...laneProblems(model, path, config),
    ...strays.map(([at, lane]) => ({ path: at, message: `"${lane}" is not among the lanes` })),
  ]
}

function laneProblems(model: AutoModelConfig, path: ConfigPath, { models }: ConfigSections): ConfigProblem[] {
  return model.lanes.flatMap((lane, index) => {
    const target = models.find(({ id }) => id === lane)
    const fault = !target
      ? 'is not the id of a model'
      : target.type !== 'chat'
        ? `is of type ${target.type}; a lane must be a chat model`
        : target.direct
          ? 'is a direct vendor model; a lane must have a multiplier'
          : model.lanes.indexOf(lane) !== index
            ? 'is listed twice'
            : null
    return fault ? [{ path: [...path, 'lanes', index], message: `"${lane}" ${fault}` }] : []
  })
}

function servedProblems(model: ServedModelConfig, path: ConfigPath, config: ConfigSections): ConfigProblem[] {
  const pool = config.pools.find(({ id }) => id === model.pool)
  return [
    ...(pool ? capabilityProblems(model, pool, path, config) : [unknownPool(model, path, config)]),
    ...priceProblems(model, path),
    ...hostedToolProblems(model, path),
    ...dimensionProblems(model, path),
  ]
}

function unknownPool(model: ServedModelConfig, path: ConfigPath, { pools }: ConfigSections): ConfigProblem {
  const message = `"${model.pool}" is not the id of a pool; ${expectedOneOf(pools.map(({ id }) => id))}`
  return { path: [...path, 'pool'], message }
}

/** Every target must serve the model's plain requests; the router checks the further needs of one request. */
function capabilityProblems(
  model: ServedModelConfig,
  pool: PoolConfig,
  path: ConfigPath,
  { backends }: ConfigSections,
): ConfigProblem[] {
  const needed: Capability = model.type
  const unable = pool.targets
    .map((target) => backends.find(({ id }) => id === target.backend))
    .filter((backend) => backend !== undefined && !backend.capabilities.includes(needed))
    .map((backend) => backend?.id)
  if (unable.length === 0) return []
  const names = [...new Set(unable)].join(', ')
  const message = `"${pool.id}" cannot serve ${model.type}: "${needed}" is not among the capabilities of ${names}`
  return [{ path: [...path, 'pool'], message }]
}

function priceProblems(model: ServedModelConfig, path: ConfigPath): ConfigProblem[] {
  const { direct, rates, multiplier } = model
  if (direct) {
    if (multiplier !== undefined) {
      return [
        { path: [...path, 'multiplier'], message: 'has no meaning on a direct model, which is billed at its rates' },
      ]
    }
    return rates ? [] : [{ path: [...path, 'rates'], message: unknownRates(model) }]
  }
  if (rates) return [{ path: [...path, 'rates'], message: 'belongs to direct models only (direct: true)' }]
  if (multiplier === undefined) {
    return [{ path: [...path, 'multiplier'], message: 'is required, unless the model is direct or has a replacement' }]
  }
  return []
}

/** Served without rates, it would be served free. */
function unknownRates({ id, type, ownedBy }: ServedModelConfig): string {
  const why =
    type === 'images'
      ? 'no list rates are kept for images'
      : `no list rate is known for "${id}" of "${ownedBy}" (ownedBy names the vendor: openai, anthropic, google, …)`
  return `is required: a direct model is billed at vendor rates, and ${why}`
}

/** Run without a price, they would be run free. */
function hostedToolProblems(
  { type, hostedTools, toolUsdPerCall }: ServedModelConfig,
  path: ConfigPath,
): ConfigProblem[] {
  return hostedTools.flatMap((tool, index) => {
    const at = [...path, 'hostedTools', index]
    if (type !== 'chat') return [{ path: at, message: 'belongs to chat models only' }]
    if (toolUsdPerCall?.[tool] !== undefined) return []
    const message = `"${tool}" has no list price for this model: name its price for each call in toolUsdPerCall`
    return [{ path: at, message }]
  })
}

function planProblems(plans: PlanConfig[]): ConfigProblem[] {
  return [
    ...exactlyOne(plans, 'default', 'the plan of new accounts'),
    ...exactlyOne(plans, 'guest', 'the plan of guest keys'),
    ...plans.flatMap((plan, index) => onePlanProblems(plan, ['plans', index])),
  ]
}

function exactlyOne(plans: PlanConfig[], flag: 'default' | 'guest', what: string): ConfigProblem[] {
  const indexes = plans.flatMap((plan, index) => (plan[flag] ? [index] : []))
  if (indexes.length === 1) return []
  if (indexes.length === 0) {
    return [{ path: ['plans'], message: `must have one plan with \`${flag}: true\` (${what}); there is none` }]
  }
  const taken = `plans[${indexes[0]}]`
  return indexes.slice(1).map((index) => ({
    path: ['plans', index, flag],
    message: `may be true on one plan only (${what}), and ${taken} is that already`,
  }))
}

function onePlanProblems(plan: PlanConfig, path: ConfigPath): ConfigProblem[] {
  const problems: ConfigProblem[] = []
  const refuse = (field: string, message: string) => problems.push({ path: [...path, field], message })
  if (plan.guest) {
    if (plan.slug !== GUEST_PLAN_SLUG) refuse('slug', `must be "${GUEST_PLAN_SLUG}" on the guest plan`)
    if (plan.perDay === undefined) refuse('perDay', 'is required on the guest plan')
    if (plan.default) refuse('default', 'cannot be true on the guest plan')
    if (plan.paid) refuse('paid', 'cannot be true on the guest plan')
    if (plan.payAsYouGo) refuse('payAsYouGo', 'cannot be true on the guest plan')
  }
  if (plan.payAsYouGo !== (plan.unit === 'usd')) {
    refuse('unit', plan.payAsYouGo ? 'must be usd on a pay-as-you-go plan' : 'may be usd on a pay-as-you-go plan only')
  }
  if (plan.unit === 'usd' && plan.limit > MAX_USD_LIMIT) refuse('limit', `must be ${MAX_USD_LIMIT} dollars at the most`)
  return problems
}

function expectedOneOf(ids: string[]): string {
  return `expected one of ${[...new Set(ids)].join(', ')}`
}
