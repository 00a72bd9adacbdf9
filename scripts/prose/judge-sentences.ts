/** Splits text into sentences and holds each against docs/writing.md. */

import type { Block } from './read-markdown.ts'

export const MAX_WORDS = 25

/** Only a question may use these words so: elsewhere they make a clause the subject or object of a sentence. */
const NOUN_CLAUSE = new RegExp(
  [
    String.raw`\b(?:what|whatever|whom|whoever|whomever)\b`,
    String.raw`\b(?:by|for|is|not|of|to|with) who\b`,
    String.raw`^(?:who|how|why|whether)\b`,
  ].join('|'),
  'i',
)

export interface Finding {
  line: number
  problem: string
  sentence: string
}

export function judge(block: Block): Finding[] {
  if (block.kind === 'heading') return []
  const { kind, line, text } = block
  // Cells are short: a semicolon stands for a full stop.
  const parts = kind === 'cell' ? text.split('; ') : [text]
  return parts.flatMap(sentencesOf).flatMap((sentence) => {
    const count = wordsOf(sentence).length
    const clause = count === 1 || sentence.endsWith('?') ? undefined : NOUN_CLAUSE.exec(sentence)?.[0]
    return [
      ...(count > MAX_WORDS ? [{ line, problem: `${count} words, at most ${MAX_WORDS}`, sentence }] : []),
      ...(clause === undefined ? [] : [{ line, problem: `a clause as a noun ("${clause}")`, sentence }]),
    ]
  })
}

/** A word has a letter or a digit. Inline code is one word, and a link is its text. */
export function wordsOf(text: string): string[] {
  return plain(text)
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word))
}

/** A full stop ends a sentence where a space and a capital, a number or code follow. */
function sentencesOf(text: string): string[] {
  return plain(text)
    .split(/(?<=[.!?]["”)*]*)\s+(?=["“(*]*[\p{Lu}\p{N}])/u)
    .filter((sentence) => sentence !== '')
}

function plain(text: string): string {
  return text
    .replaceAll(/!?\[((?:[^\][]|\[[^\]]*\])*)\]\([^)]*\)/g, '$1')
    .replaceAll(/`[^`]*`/g, 'Code')
    .replaceAll('**', '')
    .trim()
}
