/** Finds links between the pages that lead to no file or to no heading. */

import { dirname, join, normalize } from 'node:path'
import type { Block } from './read-markdown.ts'

export interface Page {
  path: string
  text: string
  blocks: readonly Block[]
}

const LINK = /\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]+))?\)/g

export function* findDeadLinks(pages: readonly Page[], exists: (path: string) => boolean): Iterable<string> {
  const anchors = new Map(pages.map(({ path, text }) => [path, new Set(headingsOf(text).map(slugOf))]))
  for (const { path, blocks } of pages) {
    for (const { line, text } of blocks) {
      for (const [, file = '', anchor] of text.matchAll(LINK)) {
        const target = file === '' ? path : normalize(join(dirname(path), file)).replace(/\/$/, '')
        const found = anchor === undefined ? exists(target) : anchors.get(target)?.has(anchor)
        if (!found) yield `${path}:${line}: the link leads nowhere: ${file}${anchor === undefined ? '' : `#${anchor}`}`
      }
    }
  }
}

/** Those of parts that a run writes, too. */
function headingsOf(text: string): string[] {
  return Array.from(text.matchAll(/^#{1,6} +(.+)$/gm), ([, heading]) => heading!)
}

/** GitHub's name of a heading. */
function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}
