/**
 * What a text looks like, whatever it says: lengths, questions, numbers, notation of mathematics and of code, lists,
 * quotations. Every trait is a number from 0 to 1.
 */

import type { Span } from './split-text.ts'

const LENGTH_STEPS = [6, 12, 20, 35, 60, 100, 180, 320, 600, 1_100, 1_900]
const COUNT_STEPS = [1, 2, 3, 5, 8, 13]

const COUNTED: Record<string, RegExp> = {
  numbers: /\d+(?:[.,]\d+)*/g,
  mathsMarks: /[=^<>≤≥≠√∫∑∏π∞±×÷∈∀∃→∂θλσΔ]|\b(?:sqrt|sin|cos|log|ln)\b/g,
  latex: /\\[a-zA-Z]+|\$[^$\n]{1,80}\$/g,
  powers: /[a-zA-Z)]\^[\d{(n]|[a-z]''?(?=[\s(+=-])|\b[a-zA-Z]\([a-z]\)|\b\d?[xyzn]\s*[+\-=]\s*\d/g,
  callMarks: /\w\(\)|\w\.\w+\(|->|=>|==|!=|&&|\|\||::|\+=|<\/|\/>|\w\[\w*\]/g,
  lineMarks: /[;{}][ \t]*(?:\n|$)|^[ \t]*(?:#|\/\/|\/\*|\*|def |class |import |from \w+ import|return |if \(|for \()/gm,
  snakeOrCamel: /\b[a-z]+_[a-z_]+\b|\b[a-z]+[A-Z][a-zA-Z]+\b/g,
  fences: /```/g,
  ticks: /`[^`\n]+`/g,
  flags: /(?:^|\s)--?[a-zA-Z][\w-]*/g,
  paths: /(?:^|[\s"'`(])(?:~?\/[\w.*-]+(?:\/[\w.*-]*)*|[\w*-]*\.(?:txt|py|js|ts|json|csv|sh|html|css|xml|yml|yaml|java|cpp|c|h|go|rs|php|rb|sql|log|gz|zip|tar|pdf|jpe?g|png|md|conf|exe|bak))\b/g,
  sqlWords: /\b(?:SELECT|FROM|WHERE|JOIN|INSERT|UPDATE|GROUP BY|ORDER BY|CREATE TABLE)\b/g,
  urls: /https?:\/\/|www\.\w/g,
  quotes: /"[^"\n]{2,}"|“[^”]{2,}”|「[^」]+」|『[^』]+』|«[^»]+»|'[^'\n]{3,}'/g,
  bullets: /^[ \t]*(?:[-*•]|\d+[.)])\s/gm,
  choices: /^[ \t]*\(?[A-Ha-h][).]\s?\S/gm,
  capitals: /[a-z,;]\s+[A-Z][a-z]+/g,
  money: /[$€£¥₹]\s?\d|\d\s?(?:€|£|元|円|dollars|euros|usd|eur)|%/gi,
  clock: /\b\d{1,2}(?::\d\d|\s?[ap]\.?m\b)/gi,
  years: /\b(?:19|20)\d\d\b/g,
  emoji: /\p{Extended_Pictographic}|[:;]-?[)(DP]/gu,
  questions: /[?？؟]/g,
  exclamations: /[!！]/g,
  lines: /\n/g,
  paragraphs: /\n\s*\n/g,
  colons: /[:：]/g,
}
const COUNTED_ENTRIES = Object.entries(COUNTED)

const FLAGS: Record<string, RegExp> = {
  endsAsking: /[?？؟]["'”」)\s]*$/,
  endsShouting: /[!！]\s*$/,
  endsOpen: /[:：=…]\s*$|\.\.\.\s*$/,
  endsFlat: /[.。।]\s*$/,
  unpunctuated: /[\p{L}\p{N}]\s*$/u,
  colonThenText: /[:：]\s*\n/,
  onlyNotation: /^[\d\s+\-*/^().=?]+$/,
  startsLower: /^\s*[a-z]/,
}
const FLAG_ENTRIES = Object.entries(FLAGS)

export const SHAPE_NAMES = [
  ...LENGTH_STEPS.map((step) => `length>${step}`),
  ...LENGTH_STEPS.slice(0, 6).flatMap((step) => [`head>${step}`, `tail>${step}`]),
  ...COUNT_STEPS.map((step) => `sentences>${step}`),
  ...COUNTED_ENTRIES.flatMap(([name]) => [`${name}:some`, `${name}:many`, `${name}:dense`]),
  ...FLAG_ENTRIES.map(([name]) => name),
  'askThenText',
  'textThenAsk',
]

/** Writes one value per name of `SHAPE_NAMES` into `into`, from `at` on. */
export function writeShape(raw: string, spans: readonly Span[], length: number, into: Float32Array, at: number): void {
  let cell = at
  const put = (value: number): void => {
    into[cell++] = value
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
  for (const [, pattern] of COUNTED_ENTRIES) {
    const count = matches(raw, pattern)
    put(count > 0 ? 1 : 0)
    put(Math.min(1, Math.log2(1 + count) / 5))
    put(Math.min(1, (count * 20) / (raw.length + 20)))
  }
  for (const [, pattern] of FLAG_ENTRIES) put(pattern.test(raw) ? 1 : 0)
  const paragraphs = raw.split('\n').filter((line) => line.trim() !== '')
  put(isAsk(paragraphs[0]) && isMaterial(paragraphs[1]) ? 1 : 0)
  put(isAsk(paragraphs.at(-1)) && isMaterial(paragraphs.at(-2)) ? 1 : 0)
}

function isAsk(paragraph = ''): boolean {
  return paragraph.length >= 4 && paragraph.length <= 240
}

function isMaterial(paragraph = ''): boolean {
  return paragraph.length >= 200
}

function matches(text: string, pattern: RegExp): number {
  pattern.lastIndex = 0
  let count = 0
  while (count < 64 && pattern.exec(text)) count++
  return count
}

/** Chinese and Japanese say in one character what takes about three in alphabets. */
function width(raw: string): number {
  const first = raw.slice(0, 200)
  const ideographs = matches(first, /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]/g)
  return ideographs * 3 > first.length ? 2.5 : 1
}
