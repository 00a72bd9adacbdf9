/**
 * Finds where server-sent events end in a stream of bytes, in any encoding of line ends that the standard allows: LF, CRLF and
 * CR. It keeps its state from one piece of the stream to the next, and no bytes.
 *
 * Nearly every server writes LF alone, so a piece without a CR is searched natively and not byte by byte.
 */

export const LF = 0x0a
export const CR = 0x0d
const EMPTY_LINE = Buffer.from('\n\n')

export class EventBoundaries {
  #lineIsEmpty = true
  #afterCr = false
  /** The CR before ended an event, and the LF that may follow belongs to that event. */
  #crEndedEvent = false

  /**
   * Reports the offset behind each event that ends in these bytes. An event also ends where the last byte is the CR of an empty
   * line. A LF that opens the next bytes still belongs to that event, and is reported as an end at offset 1.
   */
  forEachEnd(bytes: Buffer, onEnd: (end: number) => void): void {
    if (this.#afterCr || bytes.includes(CR)) return this.#readByBytes(bytes, onEnd)
    let at = 0
    let startsLine = this.#lineIsEmpty
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
    if (bytes.length > 0) this.#lineIsEmpty = bytes[bytes.length - 1] === LF
  }

  /** The offset behind the last event that ends in these bytes, or 0. */
  lastEnd(bytes: Buffer): number {
    let last = 0
    if (this.#afterCr || bytes.includes(CR)) {
      this.#readByBytes(bytes, (end) => (last = end))
      return last
    }
    if (bytes.length === 0) return 0
    const pair = bytes.lastIndexOf(EMPTY_LINE)
    last = pair >= 0 ? pair + EMPTY_LINE.length : this.#lineIsEmpty && bytes[0] === LF ? 1 : 0
    this.#lineIsEmpty = bytes[bytes.length - 1] === LF
    return last
  }

  /** An empty line of LF has just ended the stream so far. */
  reset(): void {
    this.#lineIsEmpty = true
    this.#afterCr = false
  }

  #readByBytes(bytes: Buffer, onEnd: (end: number) => void): void {
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]
      if (byte === LF && this.#afterCr) {
        this.#afterCr = false
        if (this.#crEndedEvent) onEnd(at + 1)
      } else if (byte === LF || byte === CR) {
        const isHalfOfCrLf = byte === CR && bytes[at + 1] === LF
        if (this.#lineIsEmpty && !isHalfOfCrLf) onEnd(at + 1)
        this.#afterCr = byte === CR
        this.#crEndedEvent = this.#lineIsEmpty
        this.#lineIsEmpty = true
      } else {
        this.#lineIsEmpty = false
        this.#afterCr = false
      }
    }
  }
}
