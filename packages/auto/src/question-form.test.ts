import { expect, test } from 'vitest'
import { QUESTION_FORM_NAMES, writeQuestionForm } from './question-form.ts'

function traitsOf(text: string): string[] {
  const values = new Float32Array(QUESTION_FORM_NAMES.length)
  writeQuestionForm(text, 1, values, 0)
  return QUESTION_FORM_NAMES.filter((_, index) => values[index] === 1)
}

const FACT = ['options', 'optionsTerse', 'optionsNoQuantity']

test.each([
  ['on lines', 'Which is a river?\nA. Rhine\nB. Oslo\nC. Elm'],
  ['in a line', 'Which is a river? (a) Rhine (b) Oslo (c) Elm'],
  ['in Cyrillic', 'Коя е река?\nА) Дунав\nБ) Рила\nВ) Пирин'],
  ['in Arabic', 'أي مما يلي نهر؟ أ) النيل ب) مكة ج) سيناء'],
  ['in circles', '다음 중 강은? ①한강 ②남산 ③독도'],
  ['in kana', '川はどれか。\nア．利根川\nイ．富士山\nウ．琵琶湖'],
  ['by Chinese stems', '哪个是河？甲、黄河 乙、泰山 丙、洞庭'],
])('options of a question of fact are recognised %s', (_, text) => {
  expect(traitsOf(text)).toEqual(FACT)
})

test.each([
  ['an article', 'A dog and a cat met b and c in a park.'],
  ['two choices', 'A) tea or B) coffee?'],
  ['an order that is not theirs', 'C) first, B) then, A) last'],
  ['decimals', 'From 1.5 to 2.5 and 3.5'],
])('%s is no list of options', (_, text) => {
  expect(traitsOf(text)).not.toContain('options')
})

test('options of figures differ from options of terms, and are no quantities of the question', () => {
  expect(traitsOf('Its speed? A) 12 m/s B) 15 m/s C) 30 m/s')).toEqual([
    'options',
    'optionsTerse',
    'optionsOfFigures',
    'optionsNoQuantity',
  ])
})

test('quantities are counted, and so are the sentences that have one', () => {
  const oneStep = traitsOf('Tom has 3 pears. He buys 4 more. How many has he?')
  expect(oneStep).toEqual(['quantities>0', 'quantities>1', 'sentencesWithQuantity>0', 'sentencesWithQuantity>1'])
  expect(traitsOf('It costs 1,250.50 at 12:30.')).toEqual(['quantities>0', 'quantities>1', 'sentencesWithQuantity>0'])
})
