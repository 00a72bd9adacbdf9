/**
 * The kinds of requests by name: a worker gets the name.
 */

import type { ClientDialect } from '@gateway/contracts/vendors'
import { chat, embeddings, images, type InferenceKind } from './inference-kinds.ts'
import { compact } from './compact.ts'
import { messages } from './messages.ts'
import { responses } from './responses.ts'

export type KindName = ClientDialect | 'compact' | 'embeddings' | 'images'

export const KINDS: Record<KindName, InferenceKind> = { chat, compact, embeddings, images, messages, responses }

const names = new Map<InferenceKind, KindName>(
  Object.entries(KINDS).map(([name, kind]) => [kind, name as KindName] as const),
)

export function nameOf(kind: InferenceKind): KindName {
  const name = names.get(kind)
  if (name === undefined) throw new Error('a kind of request has no name')
  return name
}
