/**
 * The configured models as administrators see them.
 */

import type { ConfiguredModel } from '@gateway/contracts/administration/models'
import type { GatewayConfig, ModelConfig, VendorRates } from '@gateway/contracts/config'
import { plansThatInclude } from '@gateway/contracts/models'

type Sections = Pick<GatewayConfig, 'models' | 'pools' | 'plans'>

export function listModels({ models, pools, plans }: Sections): ConfiguredModel[] {
  return models.map((model) => ({
    id: model.id,
    object: 'model',
    name: model.name ?? null,
    type: model.type,
    aliases: model.aliases,
    purpose: model.purpose ?? null,
    plans: plansThatInclude(plans, model),
    ...priceOf(model),
    replacement: model.replacement ?? null,
    deprecated_at: model.deprecatedAt ?? null,
    sunset_at: model.sunsetAt ?? null,
    ...destinationOf(model, pools),
  }))
}

function priceOf(model: ModelConfig): Pick<ConfiguredModel, 'multiplier' | 'rates'> {
  if (model.type === 'auto') return { multiplier: null, rates: null }
  if (model.direct) return { multiplier: null, rates: model.rates ? viewRates(model.rates) : null }
  return { multiplier: model.multiplier ?? null, rates: null }
}

function viewRates(rates: VendorRates): ConfiguredModel['rates'] {
  return {
    input_usd_per_million: rates.inputUsdPerMillion,
    output_usd_per_million: rates.outputUsdPerMillion,
    cached_input_usd_per_million: rates.cachedInputUsdPerMillion ?? null,
    source: rates.source ?? null,
    as_of: rates.asOf ?? null,
  }
}

function destinationOf(
  model: ModelConfig,
  pools: Sections['pools'],
): Pick<ConfiguredModel, 'pool' | 'targets' | 'lanes'> {
  if (model.type === 'auto') return { pool: null, targets: [], lanes: model.lanes }
  const targets = pools.find(({ id }) => id === model.pool)?.targets ?? []
  return {
    pool: model.pool,
    targets: targets.map(({ backend, model: name, priority, weight }) => ({ backend, model: name, priority, weight })),
    lanes: [],
  }
}
