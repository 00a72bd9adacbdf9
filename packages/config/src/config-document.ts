/**
 * Where the fields of a config file stand in its text.
 */

import { isAlias, isMap, isPair, isScalar, isSeq, LineCounter, parseDocument, type Document, type Node } from 'yaml'
import type { LocatedProblem } from './config-error.ts'

/** The position of a field; of one that is missing, of the nearest thing around it. None in an empty file. */
export type Locate = (path: readonly PropertyKey[]) => Pick<LocatedProblem, 'line' | 'column'>

export interface ConfigDocument {
  document: Document
  locate: Locate
  /** The first one only: the others mostly follow from it. */
  syntaxProblem: LocatedProblem | null
}

export function readConfigDocument(text: string): ConfigDocument {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const locate: Locate = (path) => positionOf(document, lines, path)
  const error = document.errors[0]
  if (!error) return { document, locate, syntaxProblem: null }
  const { line, col: column } = lines.linePos(error.pos[0])
  return {
    document,
    locate,
    syntaxProblem: { field: '', message: `is not valid YAML: ${error.message}`, line, column },
  }
}

function positionOf(document: Document, lines: LineCounter, path: readonly PropertyKey[]): ReturnType<Locate> {
  let node: Node | null = document.contents
  let offset = node?.range?.[0]
  for (const part of path) {
    const child = childOf(document, node, part)
    if (!child) break
    node = child.value
    offset = child.offset
  }
  if (offset === undefined) return {}
  const { line, col: column } = lines.linePos(offset)
  return { line, column }
}

/** A map's entry stands at its key, a list's at its value. */
function childOf(
  document: Document,
  parent: Node | null,
  part: PropertyKey,
): { value: Node | null; offset: number | undefined } | null {
  const node = isAlias(parent) ? (parent.resolve(document) ?? null) : parent
  if (isSeq<Node>(node) && typeof part === 'number') {
    const value = node.items[part]
    return value ? { value, offset: value.range?.[0] } : null
  }
  if (!isMap<Node, Node>(node)) return null
  const pair = node.items.find((item) => isPair(item) && isScalar(item.key) && item.key.value === part)
  return pair ? { value: pair.value, offset: pair.key.range?.[0] } : null
}
