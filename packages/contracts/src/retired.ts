/** Whether a model's announced end has come: its `sunsetAt` begins, in UTC. */

import type { ModelConfig } from './config.ts'

export function isRetired({ sunsetAt }: Pick<ModelConfig, 'sunsetAt'>, nowMs: number): boolean {
  return sunsetAt !== undefined && Date.parse(sunsetAt) <= nowMs
}

/** Those that are listed and served. */
export function liveModels(models: readonly ModelConfig[], nowMs: number): ModelConfig[] {
  return models.filter((model) => !isRetired(model, nowMs))
}
