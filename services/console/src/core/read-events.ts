/**
 * Server-sent events out of a stream's bytes, however they were cut: the text after `data:` of each event. Comments
 * (the gateway's keep-alives) and other fields are skipped.
 */

export interface EventReader {
  /** The data of the events that this piece completes. */
  push(piece: Uint8Array): string[]
}

export function createEventReader(): EventReader {
  const decoder = new TextDecoder()
  let rest = ''
  return {
    push(piece) {
      rest += decoder.decode(piece, { stream: true })
      const events = rest.split(/\r?\n\r?\n/)
      rest = events.pop() ?? ''
      return events.flatMap(dataOf)
    },
  }
}

function dataOf(event: string): string[] {
  const lines = event.split(/\r?\n/).filter((line) => line.startsWith('data:'))
  return lines.length === 0 ? [] : [lines.map((line) => line.slice(5).replace(/^ /, '')).join('\n')]
}
