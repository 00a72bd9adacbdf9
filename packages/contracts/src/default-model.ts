/**
 * The model of requests that name none: the one with `default: true` that serves their kind, else the contract's.
 */

import { DEFAULT_CHAT_MODEL, DEFAULT_IMAGE_MODEL } from './chat.ts'
import type { ModelConfig } from './config.ts'

export type KindWithDefault = 'chat' | 'images'

const CONTRACTS: Record<KindWithDefault, string> = { chat: DEFAULT_CHAT_MODEL, images: DEFAULT_IMAGE_MODEL }

export function defaultModelId(models: readonly ModelConfig[], kind: KindWithDefault): string {
  return models.find((model) => model.default && servedKind(model) === kind)?.id ?? CONTRACTS[kind]
}

/** Auto is asked as chat is. */
export function servedKind({ type }: Pick<ModelConfig, 'type'>): 'chat' | 'embeddings' | 'images' {
  return type === 'auto' ? 'chat' : type
}
