/**
 * Finds where server-sent events end in a stream of bytes, in any encoding of line ends that the standard allows: LF, CRLF and
 * CR. It keeps its state from one piece of the stream to the next, and no bytes.
 *
 * Nearly every server writes LF alone, so a piece without a CR is searched natively and not byte by byte.
 */

import { CR, LF, LineState } from './line-state.ts'

const EMPTY_LINE = Buffer.from('\n\n')

export class EventBoundaries {
  readonly #state = new LineState()

  /**
   * Reports the offset behind each event that ends in these bytes. An event also ends where the last byte is the CR of an empty
   * line. A LF that opens the next bytes still belongs to that event, and is reported as an end at offset 1.
   */
  forEachEnd(bytes: Buffer, onEnd: (end: number) => void): void {
    if (this.#state.afterCr || bytes.includes(CR)) return this.#state.read(bytes, onEnd)
    let at = 0
    let startsLine = this.#state.lineIsEmpty
    while (at < bytes.length) {
      if (startsLine && bytes[at] === LF) {
        at++
      } else {
        const pair = bytes.indexOf(EMPTY_LINE, at)
        if (pair < 0) break
        at = pair + EMPTY_LINE.length
      }
      startsLine = true
      onEnd(at)
    }
    if (bytes.length > 0) this.#state.lineIsEmpty = bytes[bytes.length - 1] === LF
  }

  /** The offset behind the last event that ends in these bytes, or 0. */
  lastEnd(bytes: Buffer): number {
    let last = 0
    if (this.#state.afterCr || bytes.includes(CR)) {
      this.#state.read(bytes, (end) => (last = end))
      return last
    }
    if (bytes.length === 0) return 0
    const pair = bytes.lastIndexOf(EMPTY_LINE)
    last = pair >= 0 ? pair + EMPTY_LINE.length : this.#state.lineIsEmpty && bytes[0] === LF ? 1 : 0
    this.#state.lineIsEmpty = bytes[bytes.length - 1] === LF
    return last
  }

  /** An empty line of LF has just ended the stream so far. */
  reset(): void {
    this.#state.lineIsEmpty = true
    this.#state.afterCr = false
  }
}
