/**
 * The models as the gateway publishes them without a key: the list of models and the catalog of tiers. Both follow from the
 * configuration alone and say nothing of pools, backends or credentials.
 */

import type { DeprecationNotice, ModelEntry, TierEntry } from '@gateway/contracts/catalog'
import type { GatewayConfig, ModelConfig } from '@gateway/contracts/config'

/** The configuration knows no creation dates; a fixed one keeps clients' caches quiet. 2026-01-01. */
export const CREATED_S = 1_767_225_600

/** A model has one entry for each of its names that are listed. */
export function toModelEntries(model: ModelConfig): ModelEntry[] {
  return namesOf(model).map((name) => toModelEntry(model, name))
}

/** Those that are listed. */
export function namesOf({ id, aliases, listed }: ModelConfig): string[] {
  return listed ? [id, ...aliases] : [id]
}

/** `name`: its id, or an alias. */
export function toModelEntry(model: ModelConfig, name: string): ModelEntry {
  return { id: name, object: 'model', created: CREATED_S, owned_by: model.ownedBy, ...announced(model) }
}

/** A tier is a model with a place in the order. */
export function tiersOf({ models }: Pick<GatewayConfig, 'models'>): TierEntry[] {
  return models
    .flatMap((model) => (model.order === undefined ? [] : [{ ...model, order: model.order }]))
    .sort((a, b) => a.order - b.order)
    .map((model) => ({
      id: model.id,
      name: model.name ?? model.id,
      order: model.order,
      multiplier: model.type === 'auto' ? null : (model.multiplier ?? null),
      availability: model.availability,
      purpose: model.purpose ?? '',
      ...announced(model),
    }))
}

function announced({ deprecatedAt, sunsetAt, replacement }: ModelConfig): { deprecation?: DeprecationNotice } {
  if (deprecatedAt === undefined && sunsetAt === undefined) return {}
  return {
    deprecation: { since: deprecatedAt ?? null, sunset: sunsetAt ?? null, replacement: replacement ?? null },
  }
}
