/**
 * Detects when the JSON object of a call's arguments is complete. It reads each piece once, and parses
 * the text once, when as many braces are closed as were opened.
 */

const [QUOTE, BACKSLASH] = ['"', '\\']

export class OpenObject {
  #depth = 0
  #isInText = false
  #isEscaped = false
  /** Null: not looked at yet. */
  #isJson: boolean | null = null
  #isClosed = false

  add(piece: string): void {
    for (const letter of piece) {
      if (this.#isEscaped) this.#isEscaped = false
      else if (this.#isInText) {
        if (letter === BACKSLASH) this.#isEscaped = true
        else if (letter === QUOTE) this.#isInText = false
      } else if (letter === QUOTE) this.#isInText = true
      else if (letter === '{') this.#depth++
      else if (letter === '}' && --this.#depth === 0) this.#isClosed = true
    }
  }

  /** `text`: all pieces. */
  isComplete(text: string): boolean {
    if (this.#isClosed) this.#isJson ??= isJson(text)
    return this.#isJson === true
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
