/**
 * Where server-sent events end, byte by byte. It needs nothing of Node, so that a browser runs it, too.
 */

export const LF = 0x0a
export const CR = 0x0d

export class LineState {
  lineIsEmpty = true
  afterCr = false
  /** The CR before ended an event, and the LF that may follow belongs to that event. */
  #crEndedEvent = false

  read(bytes: Uint8Array, onEnd: (end: number) => void): void {
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]
      if (byte === LF && this.afterCr) {
        this.afterCr = false
        if (this.#crEndedEvent) onEnd(at + 1)
      } else if (byte === LF || byte === CR) {
        const isHalfOfCrLf = byte === CR && bytes[at + 1] === LF
        if (this.lineIsEmpty && !isHalfOfCrLf) onEnd(at + 1)
        this.afterCr = byte === CR
        this.#crEndedEvent = this.lineIsEmpty
        this.lineIsEmpty = true
      } else {
        this.lineIsEmpty = false
        this.afterCr = false
      }
    }
  }
}
