/**
 * Bounds the size of a stream. The cap that was sent to the backend holds for its response, too. Every stream has a
 * bound in bytes, even when its backend has none.
 *
 * Tokens are counted only when a text is longer than its cap lets expect. Tokenizers differ, so the text may have twice
 * as many tokens as its cap by ours. Most responses are never counted.
 */

/** A million tokens or so: no model writes as many. Translations keep the text until the last event. */
export const MOST_CHARACTERS = 4 * 1024 * 1024
/** Bytes of events that bring much beside their text: log probabilities, or nothing that a client can use. */
const MOST_BESIDE_BYTES = 64 * 1024 * 1024
/** The bytes that an event may bring beside its text without being counted. */
const USUAL_EVENT_BYTES = 1024
/** Text of fewer characters is not counted. */
const FIRST_LOOK = { characters: 256, perToken: 8 }
const SLACK = { tokens: 64, perToken: 2 }

export class OutputLimit {
  #capTokens: number
  #nextLook: number
  #besideBytes = 0
  #length = 0

  /** Undefined: neither the client nor the lane has a cap. */
  constructor(capTokens: number | undefined) {
    this.#capTokens = capTokens ?? Infinity
    this.#nextLook = FIRST_LOOK.characters + FIRST_LOOK.perToken * this.#capTokens
  }

  /** An event has come; `length`: characters of the text with it. */
  note(eventBytes: number, length: number): void {
    const grown = length - this.#length
    this.#length = length
    if (grown === 0 || eventBytes > USUAL_EVENT_BYTES + FIRST_LOOK.perToken * grown) this.#besideBytes += eventBytes
  }

  get isPassed(): boolean {
    return this.#length > MOST_CHARACTERS || this.#besideBytes > MOST_BESIDE_BYTES
  }

  /** True if the text is so long that its tokens should be counted. */
  get needsCount(): boolean {
    return this.#length > this.#nextLook
  }

  /** True if so many tokens are too many. If not, the next look comes when the text has grown by half. */
  isTooMany(tokens: number): boolean {
    this.#nextLook = this.#length * 1.5
    return tokens > SLACK.perToken * this.#capTokens + SLACK.tokens
  }
}
