/** Whether a model's announced end has come: its `sunsetAt` begins, in UTC. */

import type { ModelConfig } from './config.ts'

export function isRetired({ sunsetAt }: Pick<ModelConfig, 'sunsetAt'>, nowMs: number): boolean {
  return sunsetAt !== undefined && Date.parse(sunsetAt) <= nowMs
}
