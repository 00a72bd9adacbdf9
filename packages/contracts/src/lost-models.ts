/**
 * Vendors' models that end without the notice that the contract promises: they were served, they are no longer, and no
 * `sunsetAt` that has come announced it.
 */

import type { ConfigProblem } from './check-config.ts'
import type { ModelConfig } from './config.ts'
import { findModel, isRetired } from './models.ts'

export function lostDirectModels(
  former: readonly ModelConfig[],
  models: readonly ModelConfig[],
  nowMs: number,
): ConfigProblem[] {
  return former.flatMap((model) => {
    if (model.type === 'auto' || !model.direct || isRetired(model, nowMs)) return []
    if (findModel(models, model.id)) return []
    const message =
      `lack the direct model "${model.id}", which may end with notice only: ` +
      'keep it with a `sunsetAt`, and leave it out when that day has come'
    return [{ path: ['models'], message }]
  })
}
