/**
 * Reads the configured models and plans: the model that a client names, or the default, its announced end, and the
 * models of a plan.
 */

import { DEFAULT_CHAT_MODEL, DEFAULT_IMAGE_MODEL } from './chat.ts'
import type { GatewayConfig, ModelConfig, PlanConfig } from './config.ts'
import { GatewayError } from './errors.ts'

interface Named {
  id: string
  aliases: readonly string[]
}

/** By its id, or else by an alias. */
export function findModel<Model extends Named>(models: readonly Model[], name: string): Model | undefined {
  return models.find(({ id }) => id === name) ?? models.find(({ aliases }) => aliases.includes(name))
}

export type KindWithDefault = 'chat' | 'images'

const CONTRACTS: Record<KindWithDefault, string> = { chat: DEFAULT_CHAT_MODEL, images: DEFAULT_IMAGE_MODEL }

/** The one with `default: true` that serves the kind, else the contract's. */
export function defaultModelId(models: readonly ModelConfig[], kind: KindWithDefault): string {
  return models.find((model) => model.default && servedKind(model) === kind)?.id ?? CONTRACTS[kind]
}

/** Auto has the endpoint of chat. */
export function servedKind({ type }: Pick<ModelConfig, 'type'>): 'chat' | 'embeddings' | 'images' {
  return type === 'auto' ? 'chat' : type
}

/** From the begin of its `sunsetAt`, in UTC. */
export function isRetired({ sunsetAt }: Pick<ModelConfig, 'sunsetAt'>, nowMs: number): boolean {
  return sunsetAt !== undefined && Date.parse(sunsetAt) <= nowMs
}

/** Those that are listed and served. */
export function liveModels(models: readonly ModelConfig[], nowMs: number): ModelConfig[] {
  return models.filter((model) => !isRetired(model, nowMs))
}

/** An account can hold a plan that this gateway's configuration no longer has: the operator's to mend. */
export function findPlan(config: GatewayConfig, slug: string): PlanConfig {
  const plan = config.plans.find((candidate) => candidate.slug === slug)
  if (!plan) throw new GatewayError('SERVICE_UNAVAILABLE', `The plan ${slug} is not configured on this gateway`)
  return plan
}

/** Guests have the guest tier, free plans the models for all, and pay-as-you-go plans alone direct vendor models. */
export function planIncludes(plan: PlanConfig, model: ModelConfig): boolean {
  if (plan.guest) return model.guest
  if (model.type !== 'auto' && model.direct) return plan.payAsYouGo
  return model.availability === 'all' || plan.paid
}

/** The slugs of the plans that include a model, for the sentence that shows a caller where to go. */
export function plansThatInclude(plans: PlanConfig[], model: ModelConfig): string[] {
  return plans.filter((plan) => planIncludes(plan, model)).map((plan) => plan.slug)
}
