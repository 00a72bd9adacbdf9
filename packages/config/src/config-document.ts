/**
 * Where the fields of a config file stand in its text.
 */

import {
  Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  visit,
  type Alias,
  type Node,
} from 'yaml'
import type { LocatedProblem } from './config-error.ts'

/** The position of a field; of one that is missing, of the nearest thing around it. None in an empty file. */
export type Locate = (path: readonly PropertyKey[]) => Pick<LocatedProblem, 'line' | 'column'>

export interface ConfigDocument {
  document: Document
  /** The same without a place; undefined beside a syntax problem. */
  value: unknown
  locate: Locate
  /** The first one only: the others mostly follow from it. */
  syntaxProblem: LocatedProblem | null
}

/** Never throws: a file that a running gateway follows may hold anything. */
export function readConfigDocument(text: string): ConfigDocument {
  const lines = new LineCounter()
  let document: Document = new Document()
  const locate: Locate = (path) => positionOf(document, lines, path)
  const refuse = (reason: string, offset = 0): ConfigDocument => {
    const { line, col: column } = lines.linePos(offset)
    const words = /call stack/.test(reason) ? 'lists and maps are nested too deeply' : reason
    const syntaxProblem = { field: '', message: `is not valid YAML: ${words}`, line, column }
    return { document, value: undefined, locate, syntaxProblem }
  }
  try {
    document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
    const error = document.errors[0]
    if (error) return refuse(error.message, error.pos[0])
    const value: unknown = document.toJS()
    return isCircular(value)
      ? refuse('an anchor holds its own alias')
      : { document, value, locate, syntaxProblem: null }
  } catch (error) {
    return refuse((error as Error).message, danglingAlias(document)?.range?.[0])
  }
}

function isCircular(value: unknown): boolean {
  try {
    JSON.stringify(value)
    return false
  } catch {
    return true
  }
}

function danglingAlias(document: Document): Alias | undefined {
  let found: Alias | undefined
  visit(document, {
    Alias(_, alias) {
      if (alias.resolve(document)) return undefined
      found = alias
      return visit.BREAK
    },
  })
  return found
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
