/**
 * Reads the text of a streamed chunk that differs from an earlier one in nothing else, without parsing it.
 *
 * Most servers write all chunks of a response alike. Where the characters around a text are those of the earlier chunk, both
 * chunks have the same members but for that text. So all that was found in the earlier one holds for this one. Every other
 * chunk has to be parsed.
 */

import { choicesOf, parseChunk } from './chat-chunk.ts'
import { isObject } from '@gateway/contracts/json'

const BEGIN = /"content"\s*:\s*"/
/** A pattern stays in memory for as long as its stream. */
const LARGEST_EVENT = 4 * 1024
/** Some servers write other members into each chunk: after so many patterns without a use there are no more. */
const MOST_UNUSED = 4

export class ContentPattern {
  /** Empty: there is none. */
  #before = ''
  #after = ''
  #unused = 0

  /** Null: the chunk has to be parsed. */
  textIn(data: string): string | null {
    const begin = this.#before.length
    const end = data.length - this.#after.length
    if (begin === 0 || end <= begin || !data.startsWith(this.#before) || !data.endsWith(this.#after)) return null
    const text = textWrittenAs(data.slice(begin, end))
    if (text !== null) this.#unused = 0
    return text
  }

  /** `data`: a chunk of one choice, whose delta has this content. True if later chunks are compared with it. */
  note(data: string, content: string): boolean {
    if (this.#unused >= MOST_UNUSED || data.length > LARGEST_EVENT || hasEscapes(content)) return false
    this.#unused++
    const found = BEGIN.exec(data)
    if (found === null) return false
    const begin = found.index + found[0].length
    const [before, after] = [data.slice(0, begin), data.slice(begin + content.length)]
    if (!data.startsWith(content, begin) || !isContentAt(before, after, `${content}.`)) return false
    this.#before = inOnePiece(before)
    this.#after = inOnePiece(after)
    return true
  }
}

/** Null: the characters are more than one text. The text is no part of the event, which it would keep alive. */
function textWrittenAs(characters: string): string | null {
  try {
    return JSON.parse(`"${characters}"`) as string
  } catch {
    return null
  }
}

/** V8 compares a part of a longer text at a third of the speed. The part would also keep that text alive. */
function inOnePiece(text: string): string {
  return Buffer.from(text).toString()
}

function hasEscapes(text: string): boolean {
  return JSON.stringify(text).length !== text.length + 2
}

/** Another text could stand in front of the content, under the same name. */
function isContentAt(before: string, after: string, text: string): boolean {
  const [choice] = choicesOf(parseChunk(`${before}${text}${after}`))
  return isObject(choice?.delta) && choice.delta.content === text
}
