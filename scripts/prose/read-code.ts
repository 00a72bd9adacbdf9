/**
 * Finds in a source file the text that a person reads: comments, titles of tests, and help of commands. Code and other strings are
 * left out. A small scanner follows strings, templates and regular expressions, so that no `//` inside of them counts.
 */

import type { Block } from './read-markdown.ts'

export interface CodeText {
  comments: Block[]
  /** Titles of tests and of their groups. */
  titles: Block[]
  /** Names of the code: of functions, types, values and members. */
  words: { line: number; word: string }[]
  /** Sentences of two words and more in strings. */
  strings: Block[]
}

type Piece = { kind: 'comment' | 'string' | 'code'; at: number; text: string }

const TEST = /\b(?:test|it|describe)(?:\.\w+)*(?:<[^;]*>)?\s*$/
const NAME = /[\p{L}_$][\p{L}\p{N}_$]*/gu

export function readCode(source: string): CodeText {
  const read: CodeText = { comments: [], titles: [], words: [], strings: [] }
  const lineOf = lineFinder(source)
  let before = ''
  for (const { kind, at, text } of piecesOf(source)) {
    if (kind === 'comment') read.comments.push(...commentBlocks(text, lineOf(at)))
    else if (kind === 'string') {
      const block: Block = { kind: 'paragraph', line: lineOf(at), text }
      if (opensTitle(before)) read.titles.push(block)
      else if (/\p{L} \p{L}/u.test(text)) read.strings.push(block)
    } else {
      for (const { 0: word, index } of text.matchAll(NAME)) read.words.push({ line: lineOf(at + index), word })
    }
    if (kind === 'code') before += text
  }
  return read
}

/** `code` lacks its strings, so their brackets do not count. */
function opensTitle(code: string): boolean {
  const call = /\(\s*$/.exec(code.slice(-200))
  if (!call) return false
  const called = code.slice(0, code.length - call[0].length)
  const from = called.endsWith(')') ? openingOf(called) : called.length
  return TEST.test(called.slice(Math.max(0, from - 500), from))
}

/** The place of the bracket that the last one closes: a table of cases lies between them. */
function openingOf(code: string): number {
  let depth = 0
  for (let at = code.length - 1; at >= 0; at--) {
    if (code[at] === ')') depth++
    else if (code[at] === '(' && --depth === 0) return at
  }
  return 0
}

/** Paragraphs of a comment: an empty line or a list item begins a new one. A line comment joins those right above it in `piecesOf`. */
function commentBlocks(text: string, firstLine: number): Block[] {
  const blocks: Block[] = []
  let isOpen = false
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.replace(/^\s*(?:\/\*\*?|\*\/|\*(?!\*)|\/\/)?\s?/, '').replace(/\s*\*\/\s*$/, '')
    const words = line.trim()
    if (words === '' || words.startsWith('@') || /^(?:oxlint|eslint|v8 ignore|prettier)/.test(words)) {
      isOpen = false
      continue
    }
    const isItem = /^(?:[-*]|\d+\.) /.test(words)
    const isTable = /^\s{2,}\S/.test(line) || words.startsWith('|')
    const last = blocks.at(-1)
    if (isOpen && last && !isItem && !isTable) last.text += ` ${words}`
    else blocks.push({ kind: isTable ? 'heading' : 'paragraph', line: firstLine + index, text: words })
    isOpen = !isTable
  }
  return blocks
}

/** In order. The text of a string comes without its quotes; a template's expressions are code. */
function* piecesOf(source: string): Generator<Piece> {
  let at = 0
  let codeFrom = 0
  /** Templates that are open around the present expression: how many braces are open in each. */
  const templates: number[] = []
  const code = (): Piece => ({ kind: 'code', at: codeFrom, text: source.slice(codeFrom, at) })
  while (at < source.length) {
    const [char, next] = [source[at]!, source[at + 1]]
    if (char === '/' && (next === '/' || next === '*')) {
      yield code()
      const end = next === '/' ? endOfLineComments(source, at) : source.indexOf('*/', at + 2) + 2
      yield { kind: 'comment', at, text: source.slice(at, end) }
      at = codeFrom = end
    } else if (char === "'" || char === '"') {
      yield code()
      const end = endOfString(source, at)
      yield { kind: 'string', at, text: source.slice(at + 1, end - 1) }
      at = codeFrom = end
    } else if (char === '`' || (char === '}' && templates.at(-1) === 0)) {
      if (char === '}') templates.pop()
      yield code()
      const end = endOfTemplatePart(source, at + 1)
      const opens = source[end - 1] === '{'
      yield { kind: 'string', at, text: source.slice(at + 1, end - (opens ? 2 : 1)) }
      if (opens) templates.push(0)
      at = codeFrom = end
    } else if (char === '/' && beginsExpression(source, at)) {
      yield code()
      at = codeFrom = endOfRegExp(source, at)
    } else {
      if (char === '{' && templates.length > 0) templates[templates.length - 1]!++
      if (char === '}' && templates.length > 0) templates[templates.length - 1]!--
      at++
    }
  }
  yield code()
}

/** Line comments below each other are one text. */
function endOfLineComments(source: string, at: number): number {
  const lines = /^\/\/.*(?:\n[ \t]*\/\/.*)*/.exec(source.slice(at))!
  return at + lines[0].length
}

function endOfString(source: string, at: number): number {
  let end = at + 1
  while (end < source.length && source[end] !== source[at]) end += source[end] === '\\' ? 2 : 1
  return end + 1
}

function endOfTemplatePart(source: string, from: number): number {
  let end = from
  while (end < source.length) {
    if (source[end] === '\\') end += 2
    else if (source[end] === '`') return end + 1
    else if (source[end] === '$' && source[end + 1] === '{') return end + 2
    else end++
  }
  return end
}

/** A slash after a value divides; after an operator, a keyword or nothing it begins a regular expression. */
function beginsExpression(source: string, at: number): boolean {
  const before = source.slice(Math.max(0, at - 40), at).trimEnd()
  return before === '' || /[=(,:;!&|?{}[+\-*%<>~^]$|\b(?:return|typeof|case|in|of|yield|await)$/.test(before)
}

function endOfRegExp(source: string, at: number): number {
  let isClass = false
  let end = at + 1
  for (; end < source.length && (isClass || source[end] !== '/'); end++) {
    if (source[end] === '\\') end++
    else if (source[end] === '[') isClass = true
    else if (source[end] === ']') isClass = false
    else if (source[end] === '\n') return at + 1
  }
  return end + 1
}

function lineFinder(source: string): (at: number) => number {
  const starts = [0]
  for (let at = source.indexOf('\n'); at >= 0; at = source.indexOf('\n', at + 1)) starts.push(at + 1)
  return (at) => {
    let [low, high] = [0, starts.length - 1]
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (starts[middle]! <= at) low = middle
      else high = middle - 1
    }
    return low + 1
  }
}
