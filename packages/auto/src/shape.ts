/**
 * The shape of a text, without its words: lengths, questions, numbers, notation of mathematics and of code, lists,
 * quotations. Every feature is a number from 0 to 1.
 */

import { QUESTION_FORM_NAMES, writeQuestionForm } from './question-form.ts'
import type { Span } from './split-text.ts'

const LENGTH_STEPS = [6, 12, 20, 35, 60, 100, 180, 320, 600, 1_100, 1_900]
const COUNT_STEPS = [1, 2, 3, 5, 8, 13]

interface Trait {
  pattern: RegExp
  /** The pattern needs one of these characters and is skipped without any. */
  needs?: string
}

const COUNTED: Record<string, Trait> = {
  numbers: { pattern: /(?<!\d)\d+(?:[.,]\d+)*/g, needs: '0123456789' },
  mathsMarks: { pattern: /[=^<>≤≥≠√∫∑∏π∞±×÷∈∀∃→∂θλσΔ]/g },
  latex: { pattern: /\\[a-zA-Z]+|\$[^$\n]{1,80}\$/g, needs: '\\$' },
  powers: {
    pattern: /[a-zA-Z)]\^[\d{(n]|[a-z]''?(?=[\s(+=-])|\b[a-zA-Z]\([a-z]\)|\b\d?[xyzn]\s*[+\-=]\s*\d/g,
    needs: "^'(+=-",
  },
  callMarks: { pattern: /\w\(\)|\w\.\w+\(|->|=>|==|!=|&&|\|\||::|\+=|<\/|\/>|\w\[\w*\]/g, needs: '(>=&|:/[' },
  lineMarks: {
    pattern: /[;{}][ \t]*(?:\n|$)|^[ \t]*(?:#|\/\/|\/\*|\*|def |class |import |from \w+ import|return |if \(|for \()/gm,
    needs: ';{}#/*(:=',
  },
  snakeOrCamel: { pattern: /[a-z]_[a-z]|[a-z][A-Z]/g },
  fences: { pattern: /```/g, needs: '`' },
  ticks: { pattern: /`[^`\n]+`/g, needs: '`' },
  flags: { pattern: /(?:^|\s)--?[a-zA-Z][\w-]*/g, needs: '-' },
  paths: { pattern: /(?:^|[\s"'`(])~?\/[\w.*-]+/g, needs: '/' },
  fileNames: {
    pattern:
      /\.(?:txt|py|js|ts|json|csv|sh|html|css|xml|ya?ml|java|cpp|c|h|go|rs|php|rb|sql|log|gz|zip|tar|pdf|jpe?g|png|md|conf|exe|bak)\b/g,
    needs: '.',
  },
  sqlWords: {
    pattern: /\b(?:SELECT|FROM|WHERE|JOIN|INSERT|UPDATE|GROUP BY|ORDER BY|CREATE TABLE)\b/g,
    needs: 'SFWJUGC',
  },
  urls: { pattern: /https?:\/\/|www\.\w/g, needs: '/w' },
  quotes: { pattern: /"[^"\n]{2,}"|“[^“”]{2,}”|「[^「」]+」|『[^『』]+』|«[^«»]+»|'[^'\n]{3,}'/g },
  bullets: { pattern: /^[ \t]*(?:[-*•]|\d+[.)])\s/gm },
  choices: { pattern: /^[ \t]*\(?[A-Ha-h][).][ \t]?\S/gm, needs: ').' },
  capitals: { pattern: /[a-z,;] [A-Z][a-z]/g },
  money: { pattern: /[$€£¥₹] ?\d|\d ?(?:€|£|元|円|dollars|euros|usd|eur)|%/gi },
  clock: { pattern: /\b\d{1,2}(?::\d\d|\s?[ap]\.?m\b)/gi, needs: '0123456789' },
  years: { pattern: /\b(?:19|20)\d\d\b/g, needs: '12' },
  emoji: { pattern: /[\u2600-\u27bf]|\ud83c[\udc00-\udfff]|\ud83d[\udc00-\udfff]|\ud83e[\udc00-\udfff]|[:;]-?[)(DP]/g },
  questions: { pattern: /[?？؟]/g },
  exclamations: { pattern: /[!！]/g },
  lines: { pattern: /\n/g, needs: '\n' },
  paragraphs: { pattern: /(?<!\n)\n\s*\n/g, needs: '\n' },
  colons: { pattern: /[:：]/g },
}
const COUNTED_ENTRIES = Object.entries(COUNTED).map(([name, { pattern, needs }]) => ({
  name,
  pattern,
  needs: needs === undefined ? null : Array.from(needs, (character) => character.charCodeAt(0)),
}))

/** The ends of a text, matched against its last characters alone. */
const ENDINGS: [name: string, pattern: RegExp][] = [
  ['endsAsking', /[?？؟]["'”」)\s]*$/],
  ['endsShouting', /[!！]\s*$/],
  ['endsOpen', /[:：=…]\s*$|\.\.\.\s*$/],
  ['endsFlat', /[.。।]\s*$/],
  ['unpunctuated', /[\p{L}\p{N}]\s*$/u],
]
const ENDING_CHARS = 16

export const SHAPE_NAMES = [
  ...LENGTH_STEPS.map((step) => `length>${step}`),
  ...LENGTH_STEPS.slice(0, 6).flatMap((step) => [`head>${step}`, `tail>${step}`]),
  ...COUNT_STEPS.map((step) => `sentences>${step}`),
  ...COUNTED_ENTRIES.flatMap(({ name }) => [`${name}:some`, `${name}:many`, `${name}:dense`]),
  ...ENDINGS.map(([name]) => name),
  'colonThenText',
  'onlyNotation',
  'startsLower',
  'askThenText',
  'textThenAsk',
  ...QUESTION_FORM_NAMES,
]

/** Writes a value for each name of `SHAPE_NAMES` into `into`, from `at` on. */
export function writeShape(raw: string, spans: readonly Span[], length: number, into: Float32Array, at: number): void {
  let index = at
  const put = (value: number): void => {
    into[index++] = value
  }
  const weight = width(raw)
  const head = spans[0] ? (spans[0].end - spans[0].start) * weight : 0
  const last = spans.at(-1)
  const tail = last ? (last.end - last.start) * weight : 0
  for (const step of LENGTH_STEPS) put(length * weight > step ? 1 : 0)
  for (const step of LENGTH_STEPS.slice(0, 6)) {
    put(head > step ? 1 : 0)
    put(tail > step ? 1 : 0)
  }
  for (const step of COUNT_STEPS) put(spans.length > step ? 1 : 0)
  const seen = asciiSeen(raw)
  for (const { pattern, needs } of COUNTED_ENTRIES) {
    const count = needs && !needs.some((code) => seen[code]) ? 0 : matches(raw, pattern)
    put(count > 0 ? 1 : 0)
    put(Math.min(1, Math.log2(1 + count) / 5))
    put(Math.min(1, (count * 20) / (raw.length + 20)))
  }
  const ending = raw.slice(-ENDING_CHARS)
  for (const [, pattern] of ENDINGS) put(pattern.test(ending) ? 1 : 0)
  put(/[:：][ \t]*\n/.test(raw) ? 1 : 0)
  put(/^[\d\s+\-*/^().=?]+$/.test(raw) ? 1 : 0)
  put(/^\s*[a-z]/.test(raw) ? 1 : 0)
  const paragraphs = raw.split('\n').filter((line) => line.trim() !== '')
  put(isRequest(paragraphs[0]) && isMaterial(paragraphs[1]) ? 1 : 0)
  put(isRequest(paragraphs.at(-1)) && isMaterial(paragraphs.at(-2)) ? 1 : 0)
  writeQuestionForm(raw, weight, into, index)
}

function isRequest(paragraph = ''): boolean {
  return paragraph.length >= 4 && paragraph.length <= 240
}

function isMaterial(paragraph = ''): boolean {
  return paragraph.length >= 200
}

function asciiSeen(raw: string): Uint8Array {
  const seen = new Uint8Array(128)
  for (let at = 0; at < raw.length; at++) {
    const code = raw.charCodeAt(at)
    if (code < 128) seen[code] = 1
  }
  return seen
}

function matches(text: string, pattern: RegExp): number {
  pattern.lastIndex = 0
  let count = 0
  while (count < 64 && pattern.exec(text)) count++
  return count
}

/** One character of Chinese or Japanese counts as 2.5: an alphabet takes about three for the same content. */
function width(raw: string): number {
  const first = raw.slice(0, 200)
  const ideographs = matches(first, /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]/g)
  return ideographs * 3 > first.length ? 2.5 : 1
}
