/**
 * Finds the lexicon's phrases in folded text, in one pass over a trie. Words of alphabetic scripts match whole, unless
 * the phrase ends in `*`; Korean words may carry particles; Chinese and Japanese match anywhere.
 */

import { ALPHABETIC, charClass, foldText, HANGUL, SEPARATOR } from './fold-text.ts'
import { ANSWER_WORDS } from './lexicon/answer.ts'
import { CHAT_WORDS } from './lexicon/chat.ts'
import { EXACT_WORDS } from './lexicon/exact.ts'
import { LIVE_WORDS } from './lexicon/live.ts'

const LEXICON = { ...CHAT_WORDS, ...LIVE_WORDS, ...EXACT_WORDS, ...ANSWER_WORDS }

export type Cue = keyof typeof LEXICON
export const CUES = Object.keys(LEXICON) as Cue[]

interface TrieNode {
  next: Map<number, TrieNode>
  /** Cues of phrases that end here at a word's end, and of those that may go on. */
  whole: number[]
  open: number[]
}

const ROOT = buildTrie()
/** The root's own table: most words end the search there. */
const FIRST: (TrieNode | undefined)[] = Array.from({ length: 0x10000 }, (_, code) => ROOT.next.get(code))

/** Adds to `counts` (one cell per cue) what `text.slice(start, end)` holds; `order` gets each cue when it is met. */
export function countCues(text: string, start: number, end: number, counts: Uint16Array, order?: number[]): void {
  let before = SEPARATOR
  for (let at = start; at < end; at++) {
    const kind = charClass(text.charCodeAt(at))
    const startsWord = kind !== SEPARATOR && (kind !== before || (kind !== ALPHABETIC && kind !== HANGUL))
    if (startsWord) walk(text, at, end, counts, order)
    before = kind
  }
}

function walk(text: string, from: number, end: number, counts: Uint16Array, order?: number[]): void {
  let node = FIRST[text.charCodeAt(from)]
  for (let at = from; node; node = ++at < end ? node.next.get(text.charCodeAt(at)) : undefined) {
    if (node.open.length > 0) add(node.open, counts, order)
    if (node.whole.length > 0 && endsWord(text, at, end)) add(node.whole, counts, order)
  }
}

function endsWord(text: string, at: number, end: number): boolean {
  if (at + 1 >= end) return true
  const kind = charClass(text.charCodeAt(at))
  return (kind !== ALPHABETIC && kind !== HANGUL) || charClass(text.charCodeAt(at + 1)) !== kind
}

function add(cues: number[], counts: Uint16Array, order?: number[]): void {
  for (const cue of cues) {
    counts[cue] = (counts[cue] ?? 0) + 1
    order?.push(cue)
  }
}

function buildTrie(): TrieNode {
  const root = emptyNode()
  CUES.forEach((cue, index) => {
    const phrases = new Set(LEXICON[cue].split('|').map((phrase) => foldText(phrase.trim())))
    for (const phrase of phrases) insert(root, phrase, index)
  })
  return root
}

function insert(root: TrieNode, phrase: string, cue: number): void {
  const open = phrase.endsWith('*')
  const text = phrase.replaceAll('*', '')
  if (text === '') return
  let node = root
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    let next = node.next.get(code)
    if (!next) node.next.set(code, (next = emptyNode()))
    node = next
  }
  const lastKind = charClass(text.charCodeAt(text.length - 1))
  ;(open || lastKind === HANGUL ? node.open : node.whole).push(cue)
}

function emptyNode(): TrieNode {
  return { next: new Map(), whole: [], open: [] }
}
