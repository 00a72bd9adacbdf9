/**
 * The blocks of a message that hold the state of the model's reasoning: signed thoughts, and those that only their vendor reads. A stream
 * sends a block in pieces, and its target wants the whole one back.
 */

import type { JsonObject } from '@gateway/contracts/json'
import { MOST_SEALED_BYTES } from '../../core/state-seal.ts'

/** A thought without a signature is no state. */
export function isState({ type, signature, data }: JsonObject): boolean {
  if (type === 'redacted_thinking') return typeof data === 'string'
  return type === 'thinking' && typeof signature === 'string' && signature !== ''
}

/** Blocks follow one another, so one is open at a time. */
export class KeptThoughts {
  #index: unknown
  #block: JsonObject | null = null
  #thinking = ''
  #signature = ''

  start(index: unknown, block: JsonObject): void {
    if (block.type !== 'thinking' && block.type !== 'redacted_thinking') return
    this.#index = index
    this.#block = block
    this.#thinking = textOf(block.thinking)
    this.#signature = textOf(block.signature)
  }

  add(index: unknown, { thinking, signature }: JsonObject): void {
    if (this.#block === null || index !== this.#index) return
    this.#thinking += textOf(thinking)
    this.#signature += textOf(signature)
    // Beyond this nothing can be sealed, and a thought may go on for long.
    if (this.#thinking.length + this.#signature.length > MOST_SEALED_BYTES) this.#block = null
  }

  /** The whole block where it is state; null where the block that has ended is another one. */
  end(index: unknown): JsonObject | null {
    const block = this.#block
    if (block === null || index !== this.#index) return null
    this.#block = null
    const full = block.type === 'thinking' ? { ...block, thinking: this.#thinking, signature: this.#signature } : block
    return isState(full) ? full : null
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
