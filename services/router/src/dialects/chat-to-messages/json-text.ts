/**
 * A response in JSON, out of all that a model writes when a request demands one. Words before and behind the JSON are thoughts:
 * glued to it, they would make it unreadable.
 *
 * A model that must call our tool responds by the call. One that must write an object may write prose or a fence around
 * it. Where no JSON comes, the words are the content, in both cases.
 */

/** The request's choice of the two. */
export type JsonBy = 'call' | 'text'

export interface Split {
  content: string
  thoughts: string
}

/** Words beyond this are reported as thoughts while they come. */
const MOST_HELD_CHARACTERS = 64 * 1024

/** Words may stand in brackets, too: "[1]", "{name}". */
const BEGIN = /\{\s*["}]|\[\s*["{[\]]/
const MOST_SPACES = 1_024

export class JsonText {
  #by: JsonBy
  #held = ''
  /** A bracket at the end of a piece, which may begin the JSON. */
  #unsure = ''
  #hasJson = false
  #hasWordsBehind = false
  /** Brackets that are open; the JSON ends when none is. */
  #open = 0
  #isInString = false
  #isEscaped = false

  constructor(by: JsonBy) {
    this.#by = by
  }

  /** A piece of text. */
  take(piece: string): Split {
    if (this.#open > 0) return this.#read(piece, 0)
    if (this.#hasJson) return { content: '', thoughts: this.#behind(piece) }
    const text = this.#unsure + piece
    this.#unsure = ''
    const begin = this.#by === 'text' ? text.search(BEGIN) : -1
    if (begin >= 0) {
      this.#hasJson = true
      const { content, thoughts } = this.#read(text, begin)
      return { content, thoughts: this.#release() + text.slice(0, begin) + thoughts }
    }
    const words = this.#by === 'text' ? text.slice(0, endOfWords(text)) : text
    this.#held += words
    const thoughts = this.#held.length > MOST_HELD_CHARACTERS ? this.#release() : ''
    this.#unsure = text.slice(words.length)
    return { content: '', thoughts }
  }

  /** The call of our tool has begun. False where it is another one than the first. */
  beginCall(): { isFirst: boolean; thoughts: string } {
    const isFirst = !this.#hasJson
    this.#hasJson = true
    return { isFirst, thoughts: this.#release() }
  }

  /** The content that is left when the response ends. */
  end(): string {
    return this.#hasJson ? '' : this.#release()
  }

  #release(): string {
    const held = this.#held + this.#unsure
    this.#held = this.#unsure = ''
    return held
  }

  /** The end of a fence is no word. */
  #behind(text: string): string {
    const words = this.#hasWordsBehind ? text : text.replace(/^[`\s]+/, '')
    this.#hasWordsBehind ||= words !== ''
    return words
  }

  #read(piece: string, from: number): Split {
    for (let at = from; at < piece.length; at++) {
      const letter = piece[at]!
      if (this.#isInString) {
        if (this.#isEscaped) this.#isEscaped = false
        else if (letter === '\\') this.#isEscaped = true
        else if (letter === '"') this.#isInString = false
      } else if (letter === '"') this.#isInString = true
      else if (letter === '{' || letter === '[') this.#open++
      else if (letter === '}' || letter === ']') {
        this.#open--
        if (this.#open === 0) return { content: piece.slice(from, at + 1), thoughts: this.#behind(piece.slice(at + 1)) }
      }
    }
    return { content: piece.slice(from), thoughts: '' }
  }
}

/** The place of a bracket at the end, behind which only spaces have come. */
function endOfWords(text: string): number {
  const { length } = text.trimEnd()
  const isOpen = text[length - 1] === '{' || text[length - 1] === '['
  return isOpen && text.length - length < MOST_SPACES ? length - 1 : text.length
}
