/**
 * Splits a Markdown page into the blocks of text that a person wrote: headings, paragraphs, list items and table cells.
 * Code and comments are no text. Neither is a generated part, between `<!-- begin … -->` or `<!-- … written by … -->`
 * and its end: a writer cannot mend it there.
 */

export interface Block {
  kind: 'heading' | 'paragraph' | 'cell'
  line: number
  text: string
}

const BEGIN = /^<!-- (?:begin |.*written by )/
const END = /^<!-- (?:end |\/)/
const FENCE = /^\s*(```|~~~)/
const COMMENT = /<!--.*?-->/g
const HEADING = /^#{1,6} +(.+)$/
const TABLE_RULE = /^\|[\s:|-]+\|$/
const LIST_ITEM = /^\s*(?:[-*]|\d+\.) +(.+)$/

export function readMarkdown(page: string): Block[] {
  const blocks: Block[] = []
  let paragraph: Block | undefined
  let isCode = false
  let isWrittenByRun = false
  for (const [index, raw] of page.split('\n').entries()) {
    const line = index + 1
    if (FENCE.test(raw)) isCode = !isCode
    else if (!isCode && BEGIN.test(raw)) isWrittenByRun = true
    else if (!isCode && END.test(raw)) isWrittenByRun = false
    const isText = !isCode && !isWrittenByRun && !FENCE.test(raw)
    const text = isText ? raw.replaceAll(COMMENT, '').trim() : ''
    if (text === '' || TABLE_RULE.test(text)) {
      paragraph = undefined
      continue
    }
    const heading = HEADING.exec(text)?.[1]
    const item = LIST_ITEM.exec(raw)?.[1]
    if (heading !== undefined) {
      blocks.push({ kind: 'heading', line, text: heading })
      paragraph = undefined
    } else if (text.startsWith('|')) {
      blocks.push(...cellsOf(text).map((cell): Block => ({ kind: 'cell', line, text: cell })))
      paragraph = undefined
    } else if (paragraph && item === undefined) {
      paragraph.text += ` ${text}`
    } else {
      paragraph = { kind: 'paragraph', line, text: item ?? text }
      blocks.push(paragraph)
    }
  }
  return blocks
}

function cellsOf(row: string): string[] {
  return row
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim())
    .filter((cell) => cell !== '')
}
