/**
 * Pages that are written by hand but for the parts between two markers, which each measurement writes again.
 */

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT } from '../harness/folders.ts'

const README = join(ROOT, 'dev', 'bench', 'README.md')

export async function writeIntoReadme(part: string, markdown: string): Promise<void> {
  await writeIntoPage(README, part, markdown)
}

export async function writeIntoPage(page: string, part: string, markdown: string): Promise<void> {
  await writeFile(page, replacePart(await readFile(page, 'utf8'), part, markdown))
}

/** The text between the part's markers becomes `markdown`. */
export function replacePart(text: string, part: string, markdown: string): string {
  const [begin, end] = [`<!-- begin ${part} -->`, `<!-- end ${part} -->`]
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`the text has no ${begin} … ${end}`)
  return `${text.slice(0, from + begin.length)}\n\n${markdown.trim()}\n\n${text.slice(to)}`
}
