/**
 * Folds text: lower case, without the accents of Latin, Arabic and Hindi, with plain quotes. Lexicon and messages go through
 * the same fold, so a message without accents matches, too.
 */

const MARKS = /[\u0300-\u036f\u064b-\u0655\u093c]/g
/** Letters that do not decompose into a plain letter and a mark. */
const PLAIN = new Map(Object.entries<string>({ ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', đ: 'd', ł: 'l', ı: 'i' }))
const BEYOND_ASCII = /[^ -~\s]/

export function foldText(text: string): string {
  const lower = text.toLowerCase()
  if (!BEYOND_ASCII.test(lower)) return lower
  return lower
    .normalize('NFD')
    .replace(MARKS, '')
    .replace(/[ßæœøđłı]/g, (letter) => PLAIN.get(letter) ?? letter)
    .normalize('NFC')
    .replace(/[’‘`´ʼ]/g, "'")
    .replace(/[“”„«»]/g, '"')
}

/** The kind of a character at word boundaries. In `ideographic` text every character may start and end a word. */
export const SEPARATOR = 0
export const ALPHABETIC = 1
export const IDEOGRAPHIC = 2
export const HANGUL = 3

const CLASS_OF = new Uint8Array(0x10000)
for (let code = 0; code < 0x10000; code++) CLASS_OF[code] = classOf(code)

export function charClass(code: number): number {
  return CLASS_OF[code] ?? SEPARATOR
}

function classOf(code: number): number {
  if (code >= 0xac00 && code <= 0xd7a3) return HANGUL
  if (
    (code >= 0x0e01 && code <= 0x0e5b) ||
    (code >= 0x3040 && code <= 0x30ff) ||
    (code >= 0x3400 && code <= 0x9fff) ||
    code === 0x3005
  )
    return IDEOGRAPHIC
  if (code >= 0xd800 && code <= 0xdfff) return SEPARATOR
  return /[\p{L}\p{M}\p{N}_]/u.test(String.fromCharCode(code)) ? ALPHABETIC : SEPARATOR
}

/** The end of the word that starts at `at`; `at` itself between words. An ideograph is a word. */
export function wordEnd(text: string, at: number, end: number): number {
  const kind = charClass(text.charCodeAt(at))
  if (kind === SEPARATOR) return at
  let to = at + 1
  if (kind === ALPHABETIC || kind === HANGUL) while (to < end && charClass(text.charCodeAt(to)) === kind) to++
  return to
}

/** True where a word of an alphabet ends before `at`. */
export function endsWord(text: string, at: number, end: number): boolean {
  if (at >= end) return true
  const kind = charClass(text.charCodeAt(at - 1))
  return (kind !== ALPHABETIC && kind !== HANGUL) || charClass(text.charCodeAt(at)) !== kind
}
