/**
 * The kinds of requests by name: a worker gets the name.
 */

import { chat, embeddings, images, type InferenceKind } from './inference-kinds.ts'
import { messages } from './messages.ts'
import { responses } from './responses.ts'

export const KINDS = { chat, embeddings, images, messages, responses } satisfies Record<string, InferenceKind>

export type KindName = keyof typeof KINDS

const names = new Map<InferenceKind, KindName>(
  Object.entries(KINDS).map(([name, kind]) => [kind, name as KindName] as const),
)

export function nameOf(kind: InferenceKind): KindName {
  const name = names.get(kind)
  if (name === undefined) throw new Error('a kind of request has no name')
  return name
}
