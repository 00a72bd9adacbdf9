/**
 * Features of the assistant's last response. They describe its form alone: a program, a report with sources, a question
 * back, a long text, a word or two.
 */

const SHORT_CHARS = 90
const LONG_CHARS = 500
/** The middle of a very long response adds no new trait. */
const READ_CHARS = 4_000

const TRAITS: Record<string, (text: string) => boolean> = {
  'answer-any': (text) => text !== '',
  'answer-code': (text) => text.includes('```'),
  'answer-links': (text) => /https?:\/\/|\[\d+\]|\]\(/.test(text),
  'answer-asks': (text) => /[?？؟]["'”」)\s]*$/.test(text.slice(-8)),
  'answer-short': (text) => text.length <= SHORT_CHARS,
  'answer-long': (text) => text.length > LONG_CHARS,
  'answer-notation': (text) => /\\[a-zA-Z([]|\$[^$\n]+\$|[=≡≤≥∈√∑]/.test(text) && !text.includes('```'),
  'answer-lists': (text) => /^[ \t]*(?:[-*•#]|\d+[.)])\s/m.test(text),
}
export const RESPONSE_TRAIT_NAMES = Object.keys(TRAITS)

/** Returns 0 or 1 for each name of `RESPONSE_TRAIT_NAMES`. */
export function responseTraits(reply: string): number[] {
  const text = reply.length > READ_CHARS ? reply.slice(0, READ_CHARS / 2) + reply.slice(-READ_CHARS / 2) : reply
  return Object.values(TRAITS).map((isSo) => (isSo(text) ? 1 : 0))
}
