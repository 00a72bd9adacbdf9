/**
 * Engines with prefix caches, and sessions in front of them. An engine prefills one prompt after the other, and its cache drops
 * the blocks that were not used for longest. Time is simulated.
 */

import { chooseTarget } from '../../../services/router/src/core/attempts.ts'
import { type Prompt, TOKENS_OF_BLOCK } from './prompts.ts'
import { between, type Random, type Turn } from './sessions.ts'

/** About those of a model of 30 billion parameters on one large GPU. */
export const PREFILL_TOKENS_PER_S = 10_000
const DECODE_TOKENS_PER_S = 60
export const CACHE_TOKENS = 400_000
const CACHE_BLOCKS = CACHE_TOKENS / TOKENS_OF_BLOCK
/** Before the first token, beside the prefill. */
const OVERHEAD_MS = 20
/** Sessions begin within it. */
const STARTS_WITHIN_MS = 60_000

export interface Strategy {
  name: string
  /** All engines have one cache, without a limit: no choice can hit more. */
  sharesCache?: boolean
  promptOf(turn: Turn): Prompt
  choose(engines: readonly Engine[], turn: Turn, random: Random): Engine
}

export interface Outcome {
  promptTokens: number
  cachedTokens: number
  firstTokenMs: number[]
}

class PrefixCache {
  #mostBlocks: number
  /** From the block that was not used for longest to the newest. */
  #blocks = new Set<number>()

  constructor(mostBlocks: number) {
    this.#mostBlocks = mostBlocks
  }

  /** Returns the tokens that it held of the prompt, and keeps the prompt. */
  take({ blocks }: Prompt): number {
    const missing = blocks.findIndex((block) => !this.#blocks.has(block))
    // The beginning counts as used last, since no block is of use without those before it.
    for (const block of blocks.toReversed()) {
      this.#blocks.delete(block)
      this.#blocks.add(block)
    }
    for (const oldest of this.#blocks) {
      if (this.#blocks.size <= this.#mostBlocks) break
      this.#blocks.delete(oldest)
    }
    return (missing < 0 ? blocks.length : missing) * TOKENS_OF_BLOCK
  }
}

export class Engine {
  readonly key: string
  outstanding = 0
  prefillsUntilMs = 0
  #cache: PrefixCache

  constructor(key: string, cache: PrefixCache) {
    this.key = key
    this.#cache = cache
  }

  prefill(prompt: Prompt, nowMs: number): { cachedTokens: number; firstTokenMs: number } {
    const cachedTokens = this.#cache.take(prompt)
    const prefillMs = ((prompt.tokens - cachedTokens) / PREFILL_TOKENS_PER_S) * 1_000
    this.prefillsUntilMs = Math.max(nowMs, this.prefillsUntilMs) + prefillMs
    return { cachedTokens, firstTokenMs: this.prefillsUntilMs - nowMs + OVERHEAD_MS }
  }
}

interface Event {
  atMs: number
  happen(): void
}

export function simulate(sessions: Turn[][], engineCount: number, strategy: Strategy, random: Random): Outcome {
  const shared = strategy.sharesCache === true ? new PrefixCache(Infinity) : null
  const engines = Array.from({ length: engineCount }, (_, at) => {
    return new Engine(`engine-${at}/model`, shared ?? new PrefixCache(CACHE_BLOCKS))
  })
  const outcome: Outcome = { promptTokens: 0, cachedTokens: 0, firstTokenMs: [] }
  const events: Event[] = []

  function begin(session: Turn[], turn: number, nowMs: number): void {
    const current = session[turn]
    if (current === undefined) return
    const prompt = strategy.promptOf(current)
    const engine = strategy.choose(engines, current, random)
    const { cachedTokens, firstTokenMs } = engine.prefill(prompt, nowMs)
    outcome.promptTokens += prompt.tokens
    outcome.cachedTokens += cachedTokens
    outcome.firstTokenMs.push(firstTokenMs)
    engine.outstanding++
    const endsAtMs = nowMs + firstTokenMs + (current.outputTokens / DECODE_TOKENS_PER_S) * 1_000
    events.push({ atMs: endsAtMs, happen: () => void engine.outstanding-- })
    const nextAtMs = endsAtMs + current.pauseMs
    events.push({ atMs: nextAtMs, happen: () => begin(session, turn + 1, nextAtMs) })
  }

  for (const session of sessions) {
    const startsAtMs = between(0, STARTS_WITHIN_MS, random)
    events.push({ atMs: startsAtMs, happen: () => begin(session, 0, startsAtMs) })
  }
  while (events.length > 0) {
    const first = events.reduce((least, event, at) => (event.atMs < events[least]!.atMs ? at : least), 0)
    events.splice(first, 1)[0]!.happen()
  }
  return outcome
}

/** The router's own choice among equal targets; without a key it takes the one with the least outstanding requests. */
export function routersChoice(engines: readonly Engine[], affinityKey: string | undefined, random: Random): Engine {
  const candidates = engines.map((engine) => ({
    engine,
    key: engine.key,
    priority: 1,
    weight: 1,
    outstanding: engine.outstanding,
    full: false,
    usable: true,
    avoided: false,
    fitsPrompt: true,
    isNative: false,
  }))
  const choice = chooseTarget(candidates, { affinityKey, random })
  if (choice.kind !== 'target') throw new Error('an engine is always free')
  return choice.target.engine
}
