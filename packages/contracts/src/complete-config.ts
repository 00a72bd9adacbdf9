/**
 * From the sections that a file names to a whole configuration: default sections for those that it leaves out, and the
 * model fields that follow from others. Pure; what is wrong with the result is `check-config.ts`'s to say.
 */

import type { ConfigFile, ConfigSections, ModelConfig, PoolConfig, ServedModelConfig, VendorRates } from './config.ts'
import { createDefaultConfig, LEGACY_DEPRECATED_AT } from './default-config.ts'

export interface CompletedConfig {
  sections: ConfigSections
  /** Default models that are not served because the file's own pools lack theirs. */
  unservedModels: string[]
}

/** The list rates of a direct model that names none; undefined: no list knows it. */
export type ListRates = (model: ServedModelConfig) => VendorRates | undefined

export function completeConfig(file: ConfigFile, listRates: ListRates): CompletedConfig {
  const defaults = createDefaultConfig()
  const pools = file.pools ?? defaults.pools
  const models = file.models ?? servableModels(defaults.models, pools)
  const served = new Set(models.map((model) => model.id))
  return {
    sections: {
      backends: file.backends ?? defaults.backends,
      pools,
      models: models.map((model) => completeModel(model, models, listRates)),
      plans: file.plans ?? defaults.plans,
    },
    unservedModels: file.models ? [] : ownModels(defaults.models).filter((id) => !served.has(id)),
  }
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

function completeModel(model: ModelConfig, models: ModelConfig[], listRates: ListRates): ModelConfig {
  const deprecatedAt = model.deprecatedAt ?? (model.replacement ? LEGACY_DEPRECATED_AT : undefined)
  const dated = deprecatedAt ? { ...model, deprecatedAt } : model
  if (dated.type === 'auto') return dated
  if (dated.direct) return { ...dated, rates: dated.rates ?? listRates(dated) }
  if (dated.multiplier !== undefined) return dated
  const multiplier = impliedMultiplier(dated, models)
  return multiplier === undefined ? dated : { ...dated, multiplier }
}

/** A legacy model's is its replacement's; embeddings and images are 1x. A chat lane must say what it costs. */
function impliedMultiplier(model: ServedModelConfig, models: ModelConfig[]): number | undefined {
  const replacement = models.find((other) => other.id === model.replacement)
  if (replacement && replacement.type !== 'auto' && replacement.multiplier !== undefined) return replacement.multiplier
  return model.type === 'chat' ? undefined : 1
}
