/**
 * Features of a multiple-choice question and of an arithmetic word problem: labelled options, and the number of quantities
 * and of sentences before them. A question of fact with options has no quantity; a problem of one step has two or three.
 */

const ALPHABETS = ['ABC', 'abc', 'АБВ', 'абв', '①②③', 'アイウ', '가나다', 'أبج', '甲乙丙', '123']
const NUMBER_STEPS = [0, 1, 2, 3, 4, 6]
const SENTENCE_STEPS = [0, 1, 2, 3, 5]
const STEM_CHARS = [80, 240]
/** Options up to this length on average are terms or figures rather than statements. */
const TERSE_CHARS = 24

const QUANTITY = /\d+(?:[.,:/]\d+)*/g
const SPEAKS_FOR_ITSELF = /[①②③]/
const BEFORE_LABEL = /[\s([（【{«»□▪:：?？,，]/
const AFTER_LABEL = /^\s?[).．、：:\]/）}-](?!\d)/
const SENTENCE_END = /[.!?。！？।]\D|\n/

export const QUESTION_FORM_NAMES = [
  ...NUMBER_STEPS.map((step) => `quantities>${step}`),
  ...SENTENCE_STEPS.map((step) => `sentencesWithQuantity>${step}`),
  'options',
  'optionsTerse',
  'optionsOfFigures',
  'optionsNoQuantity',
  ...STEM_CHARS.map((step) => `optionsAfter>${step}`),
]

/** Writes 0 or 1 for each name of `QUESTION_FORM_NAMES` into `into`, from `at` on. */
export function writeQuestionForm(raw: string, weight: number, into: Float32Array, at: number): void {
  let index = at
  const put = (isSo: boolean): void => {
    into[index++] = isSo ? 1 : 0
  }
  const start = optionsStart(raw)
  const stem = start < 0 ? raw : raw.slice(0, start)
  const options = start < 0 ? '' : raw.slice(start)
  const { quantities, inSentences } = countQuantities(stem)
  for (const step of NUMBER_STEPS) put(quantities > step)
  for (const step of SENTENCE_STEPS) put(inSentences > step)
  put(start >= 0)
  put(start >= 0 && options.length * weight < 4 * TERSE_CHARS)
  put(start >= 0 && (options.match(/\d/g)?.length ?? 0) * 6 > options.length)
  put(start >= 0 && quantities === 0)
  for (const step of STEM_CHARS) put(start >= 0 && stem.length * weight > step)
}

function countQuantities(stem: string): { quantities: number; inSentences: number } {
  let quantities = 0
  let inSentences = 0
  let end = -1
  for (const match of stem.matchAll(QUANTITY)) {
    if (end < 0 || SENTENCE_END.test(stem.slice(end, match.index))) inSentences++
    quantities++
    end = match.index + match[0].length
  }
  return { quantities, inSentences }
}

/** The place of the first of three labels of one alphabet in a row, or -1. */
function optionsStart(raw: string): number {
  for (const alphabet of ALPHABETS) {
    const first = findLabel(raw, alphabet.charAt(0), 0)
    if (first < 0) continue
    const second = findLabel(raw, alphabet.charAt(1), first + 1)
    if (second > 0 && findLabel(raw, alphabet.charAt(2), second + 1) > 0) return first
  }
  return -1
}

function findLabel(raw: string, label: string, from: number): number {
  for (let at = raw.indexOf(label, from); at >= 0; at = raw.indexOf(label, at + 1)) {
    if (SPEAKS_FOR_ITSELF.test(label)) return at
    if (BEFORE_LABEL.test(raw.charAt(at - 1) || ' ') && AFTER_LABEL.test(raw.slice(at + 1, at + 4))) return at
  }
  return -1
}
