/**
 * Prompts as engines cache them: in blocks of tokens, each known by all that stands before it. Two prompts share the blocks of
 * their common beginning, and a rest that fills no block is cached by nobody.
 */

export const TOKENS_OF_BLOCK = 64
/** Of English text and code. */
const CHARACTERS_OF_TOKEN = 4
const CHARACTERS_OF_BLOCK = TOKENS_OF_BLOCK * CHARACTERS_OF_TOKEN

export interface Prompt {
  tokens: number
  /** The blocks from the beginning on, by number. */
  blocks: readonly number[]
}

export class Prompts {
  #numbers = new Map<string, number>()

  read(text: string): Prompt {
    const blocks: number[] = []
    let before = -1
    for (let end = CHARACTERS_OF_BLOCK; end <= text.length; end += CHARACTERS_OF_BLOCK) {
      const key = `${before} ${text.slice(end - CHARACTERS_OF_BLOCK, end)}`
      before = this.#numbers.get(key) ?? this.#numbers.size
      this.#numbers.set(key, before)
      blocks.push(before)
    }
    return { tokens: Math.ceil(text.length / CHARACTERS_OF_TOKEN), blocks }
  }
}
