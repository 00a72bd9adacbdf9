/**
 * Finds a text's sentences. The question stands in the first or the last of them; a long quotation or a back-story
 * fills the middle.
 */

export interface Span {
  start: number
  end: number
}

const ENDS = new Uint8Array(0x10000)
for (const mark of '.!?\n。！？;；।؟') ENDS[mark.charCodeAt(0)] = 1
const NEWLINE = 10
const DOT = 46
const SPACE = 32

/** Sentences of at least one visible character, without their end marks. */
export function sentences(text: string): Span[] {
  const spans: Span[] = []
  let start = 0
  for (let at = 0; at <= text.length; at++) {
    if (at < text.length && !endsSentence(text, at)) continue
    const span = trimmed(text, start, at)
    if (span) spans.push(span)
    start = at + 1
  }
  return spans
}

function endsSentence(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  if (ENDS[code] !== 1) return false
  if (code !== DOT) return true
  const next = text.charCodeAt(at + 1)
  return Number.isNaN(next) || next === SPACE || next === NEWLINE
}

function trimmed(text: string, from: number, to: number): Span | null {
  let start = from
  let end = to
  while (start < end && text.charCodeAt(start) <= SPACE) start++
  while (end > start && text.charCodeAt(end - 1) <= SPACE) end--
  return end > start ? { start, end } : null
}
