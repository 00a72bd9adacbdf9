/**
 * Completes a file's sections to a whole configuration. It adds the default sections, and the model fields that follow
 * from others. Pure; `check-config.ts` names the faults of the result.
 */

import type { HostedTool } from './hosted-tools.ts'
import type { ConfigFile, ConfigSections, ModelConfig, PoolConfig, ServedModelConfig, VendorRates } from './config.ts'
import type { AdministrationSettings } from './administration/settings.ts'
import { createDefaultConfig, LEGACY_DEPRECATED_AT } from './default-config.ts'

export interface CompletedConfig {
  sections: ConfigSections
  /** Default models that are not served because the file's own pools lack theirs. */
  unservedModels: string[]
}

/** Prices of vendors' lists, for the models that the file leaves without one. */
export interface ListPrices {
  /** The rates of a direct model; undefined when no list knows it. */
  ratesOf(model: ServedModelConfig): VendorRates | undefined
  /** In US dollars for each call. */
  toolsOf(model: ServedModelConfig): Partial<Record<HostedTool, number>>
}

type FileSections = Omit<ConfigFile, keyof AdministrationSettings | 'webhooks' | 'exports'>

export function completeConfig(file: FileSections, prices: ListPrices): CompletedConfig {
  const defaults = createDefaultConfig()
  const { backends, pools, models, plans } = file.extends ? extended(file, defaults) : replaced(file, defaults)
  const served = new Set(models.map((model) => model.id))
  const keepsDefaults = file.extends !== undefined || file.models === undefined
  return {
    sections: { backends, pools, models: models.map((model) => completeModel(model, models, prices)), plans },
    unservedModels: keepsDefaults ? ownModels(defaults.models).filter((id) => !served.has(id)) : [],
  }
}

/** The entries of the file, and the defaults for the rest. */
function replaced(file: FileSections, defaults: ConfigSections): ConfigSections {
  const pools = file.pools ?? defaults.pools
  return {
    backends: file.backends ?? defaults.backends,
    pools,
    models: file.models ?? servableModels(defaults.models, pools),
    plans: file.plans ?? defaults.plans,
  }
}

/**
 * The defaults, with the file's entries in their place or after them. Real backends drive out the simulated ones and
 * their pools: nobody wants a lane that only seems to work.
 */
function extended(file: FileSections, defaults: ConfigSections): ConfigSections {
  const isReal = file.backends !== undefined
  const pools = isReal ? (file.pools ?? defaults.pools) : overlaid(defaults.pools, file.pools ?? [], ({ id }) => id)
  const own = file.models ?? []
  const kept = servableModels(
    defaults.models.map((model) => own.find(({ id }) => id === model.id) ?? byReplacement(model, pools, own)),
    pools,
  ).filter((model) => !own.some(({ id }) => id === model.id))
  const order = [...new Set([...defaults.models, ...own].map(({ id }) => id))]
  const models = [...kept, ...own].toSorted((a, b) => order.indexOf(a.id) - order.indexOf(b.id))
  return {
    backends: isReal ? file.backends! : defaults.backends,
    pools,
    models,
    plans: overlaid(defaults.plans, file.plans ?? [], ({ slug }) => slug),
  }
}

function overlaid<Item>(defaults: Item[], own: Item[], idOf: (item: Item) => string): Item[] {
  const ownIds = new Map(own.map((item) => [idOf(item), item]))
  const defaultIds = new Set(defaults.map(idOf))
  return [
    ...defaults.map((item) => ownIds.get(idOf(item)) ?? item),
    ...own.filter((item) => !defaultIds.has(idOf(item))),
  ]
}

/** A legacy model whose own pool the file lacks is served where the file serves its replacement. */
function byReplacement(model: ModelConfig, pools: PoolConfig[], own: ModelConfig[]): ModelConfig {
  if (model.type === 'auto' || pools.some(({ id }) => id === model.pool)) return model
  const replacement = own.find(({ id }) => id === model.replacement)
  return replacement && replacement.type === 'chat' ? { ...model, pool: replacement.pool } : model
}

/** Nobody misses a vendor's model that the defaults merely simulate. */
function ownModels(models: ModelConfig[]): string[] {
  return models.flatMap((model) => (model.type !== 'auto' && model.direct ? [] : [model.id]))
}

/** The default models whose pool exists, Auto with the lanes that are left. */
function servableModels(models: ModelConfig[], pools: PoolConfig[]): ModelConfig[] {
  const poolIds = new Set(pools.map((pool) => pool.id))
  const served = models.filter((model) => model.type !== 'auto' && poolIds.has(model.pool))
  const servedIds = new Set(served.map((model) => model.id))
  return models.flatMap((model): ModelConfig[] => {
    if (model.type !== 'auto') return servedIds.has(model.id) ? [model] : []
    const lanes = model.lanes.filter((lane) => servedIds.has(lane))
    return lanes.length > 0 ? [{ ...model, lanes }] : []
  })
}

function completeModel(model: ModelConfig, models: ModelConfig[], prices: ListPrices): ModelConfig {
  const deprecatedAt = model.deprecatedAt ?? (model.replacement ? LEGACY_DEPRECATED_AT : undefined)
  const dated = deprecatedAt ? { ...model, deprecatedAt } : model
  if (dated.type === 'auto') return dated
  return withToolPrices(withRates(dated, models, prices), prices)
}

function withToolPrices(model: ServedModelConfig, prices: ListPrices): ServedModelConfig {
  const toolUsdPerCall = { ...prices.toolsOf(model), ...model.toolUsdPerCall }
  return Object.keys(toolUsdPerCall).length > 0 ? { ...model, toolUsdPerCall } : model
}

function withRates(dated: ServedModelConfig, models: ModelConfig[], prices: ListPrices): ServedModelConfig {
  if (dated.direct) return { ...dated, rates: dated.rates ?? prices.ratesOf(dated) }
  if (dated.multiplier !== undefined) return dated
  const multiplier = impliedMultiplier(dated, models)
  return multiplier === undefined ? dated : { ...dated, multiplier }
}

/** A legacy model's is its replacement's; embeddings and images are 1x. A chat lane must name its price. */
function impliedMultiplier(model: ServedModelConfig, models: ModelConfig[]): number | undefined {
  const replacement = models.find((other) => other.id === model.replacement)
  if (replacement && replacement.type !== 'auto' && replacement.multiplier !== undefined) return replacement.multiplier
  return model.type === 'chat' ? undefined : 1
}
