/**
 * A body as a request to one of the config's models.
 */

import type { GatewayConfig, ModelConfig } from '@gateway/contracts/config'
import { GatewayError } from '@gateway/contracts/errors'
import type { JobKind } from '@gateway/contracts/job'
import { findModel, isRetired, servedKind } from '@gateway/contracts/models'
import type { InferenceRequest, InferenceKind } from './inference-kinds.ts'

export interface Understood {
  inference: InferenceRequest
  model: ModelConfig
}

export function understand(config: Pick<GatewayConfig, 'models'>, parse: InferenceKind, body: unknown): Understood {
  const inference = parse(body, config.models)
  const model = modelNamed(config, inference.model, inference.kind)
  inference.vectorsOf?.(model)
  // An alias ends here: admission, Idempotency-Key and ledger know a model by its id.
  inference.model = model.id
  return { inference, model }
}

export function modelNamed(config: Pick<GatewayConfig, 'models'>, name: string, kind: JobKind): ModelConfig {
  const model = findModel(config.models, name)
  if (!model) {
    throw new GatewayError('MODEL_NOT_FOUND', `The model ${name} does not exist; GET /v1/models lists the models`)
  }
  if (isRetired(model, Date.now())) {
    const instead = model.replacement === undefined ? '' : `; use ${model.replacement}`
    throw new GatewayError('MODEL_NOT_FOUND', `The model ${model.id} was retired on ${model.sunsetAt}${instead}`)
  }
  const served = servedKind(model)
  if (served !== kind) {
    throw new GatewayError('VALIDATION_ERROR', `model: ${model.id} serves ${served}, not ${kind}`, { param: 'model' })
  }
  return model
}
