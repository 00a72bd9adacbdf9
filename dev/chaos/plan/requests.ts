/**
 * The requests of clients, each a pure function of the seed and its number.
 */

import { clientDialects, type ClientDialect } from '@gateway/contracts/vendors'
import { isPerson, nameOf, type OwnerKind, SMALL_WORDS } from './owners.ts'
import { chance } from './random.ts'

export type RequestKind =
  | 'plain'
  | 'stream'
  /** The same through the official client. */
  | 'sdk-plain'
  | 'sdk-stream'
  | 'embeddings'
  /** Leaves before, during or at the end of its response: see {@link LEAVES_AT}. */
  | 'leaver'
  /** Takes a large response in sips. */
  | 'slow-reader'
  /** Sends a key that was rotated away or revoked. */
  | 'dead-key'
  /** Sends an `Idempotency-Key`, and repeats until it gets its response. */
  | 'repeating'
  | 'rotate'
  | 'revoke'
  /** Changes keys, limits and projects of others. */
  | 'administer'
  /** Some requests over one WebSocket. */
  | 'socket'
  /** Compacts a conversation, and goes on with it. */
  | 'compact'
  /** Some requests to a model that needs its own thoughts back. */
  | 'thinker'

const CONVERSATIONS: readonly RequestKind[] = ['socket', 'compact', 'thinker']
export const isConversation = (kind: RequestKind) => CONVERSATIONS.includes(kind)

/** The moments at which a leaver goes. */
const LEAVES_AT = [
  /** Half of its body is sent. */
  'sending',
  /** Its body is sent; it waits for some time, with or without a response. */
  'waiting',
  /** The headers are there. */
  'head',
  /** Half of the text is there. */
  'content',
  /** The finish reason is there. */
  'end',
  /** It takes a large response in sips, and the gateway has to hold back the rest. */
  'sipping',
] as const
export type LeavesAt = (typeof LEAVES_AT)[number]

export interface PlannedRequest {
  /** `r17`; also in its text, by which the backend's log knows it. */
  id: string
  kind: RequestKind
  /** The API of its request. */
  way: ClientDialect
  edge: 0 | 1
  owner: string
  model: string
  words: number
  includeUsage: boolean
  /** For a leaver. */
  leavesAt: LeavesAt
  /** For a leaver that waits. */
  leaveAfterMs: number
  /** Chooses among the dead keys. A request that repeats, and a leaver that waits, stream if it is even. */
  chosen: number
}

const OWNER_WEIGHTS: Record<Exclude<OwnerKind, 'probe' | 'passing'>, number> = {
  team: 80,
  payg: 6,
  trickle: 12,
  thimble: 8,
  gusher: 12,
  'key-requests': 6,
  'key-tokens': 5,
  'key-month': 5,
  'key-models': 3,
  models: 12,
  spender: 5,
  allowed: 3,
  tenant: 8,
}
const KIND_WEIGHTS: Record<RequestKind, number> = {
  plain: 330,
  stream: 330,
  'sdk-plain': 40,
  'sdk-stream': 60,
  embeddings: 80,
  leaver: 90,
  'slow-reader': 12,
  'dead-key': 60,
  repeating: 40,
  rotate: 12,
  revoke: 12,
  administer: 25,
  socket: 35,
  compact: 25,
  thinker: 25,
}
const MODEL_WEIGHTS = { 'chat-one': 70, 'chat-dear': 20, flaky: 7, hostile: 5, dying: 3 }
/** Some of their keys may not call some of them. */
const PROJECT_MODEL_WEIGHTS = { 'chat-one': 50, 'chat-dear': 30, embed: 20 }
const NO_PROJECTS = {
  'key-requests': 0,
  'key-tokens': 0,
  'key-month': 0,
  'key-models': 0,
  models: 0,
  spender: 0,
  allowed: 0,
  tenant: 0,
}
const NO_NEW_KINDS = { administer: 0, socket: 0, compact: 0, thinker: 0 }
const MANY_WORDS = 350
const SLOW_READER_WORDS = 3_000
const LEAVES_WITHIN_MS = 1_500

export interface Clientele {
  /** The APIs that clients use. */
  ways: readonly ClientDialect[]
  /** They use the last release's features alone. */
  isFormer?: boolean
}

export function planRequest(
  seed: number,
  number: number,
  { ways, isFormer = false }: Clientele = { ways: clientDialects },
): PlannedRequest {
  const random = chance(seed, 'request', number)
  const ownerKind = random.weighed(isFormer ? { ...OWNER_WEIGHTS, ...NO_PROJECTS } : OWNER_WEIGHTS)
  const ofProject = !isPerson(ownerKind)
  const hasLimits = ofProject || ownerKind === 'trickle' || ownerKind === 'thimble'
  const kind = hasLimits
    ? random.pick(['plain', 'stream'] as const)
    : ownerKind === 'gusher'
      ? random.pick(['leaver', 'leaver', 'stream'] as const)
      : random.weighed(isFormer ? { ...KIND_WEIGHTS, ...NO_NEW_KINDS } : KIND_WEIGHTS)
  const leavesAt = random.pick(LEAVES_AT)
  const takesSips = kind === 'slow-reader' || (kind === 'leaver' && leavesAt === 'sipping')
  const model = takesSips
    ? 'bulk'
    : ofProject
      ? chance(seed, 'model', number).weighed(PROJECT_MODEL_WEIGHTS)
      : modelFor(kind, ownerKind, random.weighed(MODEL_WEIGHTS))
  return {
    id: `r${number}`,
    kind: ofProject && model === 'embed' ? 'embeddings' : kind,
    way: isConversation(kind) ? 'responses' : hasThreeWays(kind) ? chance(seed, 'way', number).pick(ways) : 'chat',
    edge: random.pick([0, 1] as const),
    owner: nameOf(hasNoLimits(kind) ? 'team' : ownerKind, number, random.between(0, 99)),
    model,
    words: wordsFor(
      { kind, model, takesSips },
      hasLimits,
      random.between(1, SMALL_WORDS),
      random.between(1, MANY_WORDS),
      random.next(),
    ),
    includeUsage: random.next() < 0.6,
    leavesAt,
    leaveAfterMs: random.between(0, LEAVES_WITHIN_MS),
    chosen: random.between(0, 1_000_000),
  }
}

const hasNoLimits = (kind: RequestKind) =>
  ['rotate', 'revoke', 'repeating', 'administer'].includes(kind) || isConversation(kind)

/** The official client is OpenAI's, and requests chats. */
const hasThreeWays = (kind: RequestKind) => kind !== 'embeddings' && !kind.startsWith('sdk-')

function modelFor(kind: RequestKind, owner: OwnerKind, chat: keyof typeof MODEL_WEIGHTS): string {
  if (kind === 'embeddings') return 'embed'
  if (kind === 'thinker') return 'signed'
  if (isConversation(kind)) return 'chat-one'
  if (owner === 'trickle' || owner === 'thimble' || owner === 'gusher' || kind === 'repeating') return 'chat-one'
  if (owner === 'payg' && chat === 'chat-dear') return 'vendor-model'
  // Only a stream can end in the middle. A leaver's backend is to go on until the router stops it.
  if (chat === 'dying' && kind !== 'stream') return 'chat-one'
  if ((chat === 'flaky' || chat === 'hostile') && kind === 'leaver') return 'chat-one'
  return chat
}

function wordsFor(
  { kind, model, takesSips }: { kind: RequestKind; model: string; takesSips: boolean },
  isSmall: boolean,
  few: number,
  many: number,
  share: number,
): number {
  // Longer than the text before it breaks.
  if (model === 'dying') return many + SMALL_WORDS
  if (takesSips) return SLOW_READER_WORDS
  if (kind === 'leaver') return many
  return isSmall || isConversation(kind) || share < 0.7 ? few : many
}
