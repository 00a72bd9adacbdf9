/**
 * The requests of clients, each a pure function of the seed and its number.
 */

import { clientDialects, type ClientDialect } from '@gateway/contracts/vendors'
import { nameOf, type OwnerKind, SMALL_WORDS } from './owners.ts'
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

const OWNER_WEIGHTS: Record<Exclude<OwnerKind, 'probe'>, number> = {
  team: 80,
  payg: 6,
  trickle: 8,
  thimble: 6,
  gusher: 10,
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
  rotate: 8,
  revoke: 8,
}
const MODEL_WEIGHTS = { 'chat-one': 70, 'chat-dear': 20, flaky: 7, hostile: 5, dying: 3 }
const MANY_WORDS = 350
const SLOW_READER_WORDS = 3_000
const LEAVES_WITHIN_MS = 1_500

/** `ways`: the APIs that clients use. */
export function planRequest(
  seed: number,
  number: number,
  ways: readonly ClientDialect[] = clientDialects,
): PlannedRequest {
  const random = chance(seed, 'request', number)
  const ownerKind = random.weighed(OWNER_WEIGHTS)
  const hasLimits = ownerKind === 'trickle' || ownerKind === 'thimble'
  const kind = hasLimits
    ? random.pick(['plain', 'stream'] as const)
    : ownerKind === 'gusher'
      ? random.pick(['leaver', 'leaver', 'stream'] as const)
      : random.weighed(KIND_WEIGHTS)
  const leavesAt = random.pick(LEAVES_AT)
  const takesSips = kind === 'slow-reader' || (kind === 'leaver' && leavesAt === 'sipping')
  const model = takesSips ? 'bulk' : modelFor(kind, ownerKind, random.weighed(MODEL_WEIGHTS))
  return {
    id: `r${number}`,
    kind,
    way: hasThreeWays(kind) ? chance(seed, 'way', number).pick(ways) : 'chat',
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

const hasNoLimits = (kind: RequestKind) => kind === 'rotate' || kind === 'revoke' || kind === 'repeating'

/** The official client is OpenAI's, and requests chats. */
const hasThreeWays = (kind: RequestKind) => kind !== 'embeddings' && !kind.startsWith('sdk-')

function modelFor(kind: RequestKind, owner: OwnerKind, chat: keyof typeof MODEL_WEIGHTS): string {
  if (kind === 'embeddings') return 'embed'
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
  return isSmall || share < 0.7 ? few : many
}
