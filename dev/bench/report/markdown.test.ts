import { expect, test } from 'vitest'
import { figure, median, spread, table } from './markdown.ts'

test.each([
  [0, '0'],
  [0.028345, '0.0283'],
  [1.2704, '1.27'],
  [99.96, '100'],
  [1380.4, '1,380'],
  [-0.5, '-0.5'],
])('%d is shown as %s', (value, shown) => {
  expect(figure(value)).toBe(shown)
})

test('several launches show their median, the least and the most; one shows itself', () => {
  expect(spread([3, 1, 2])).toBe('2 (1–3)')
  expect(spread([1, 2])).toBe('1.5 (1–2)')
  expect(spread([4])).toBe('4')
})

test('a figure that was not measured is a dash, never a number', () => {
  expect(spread([undefined])).toBe('–')
  expect(median([])).toBe('–')
})

test('a table has its figures to the right and its words to the left', () => {
  const rows = [
    ['edge', '1', 'first'],
    ['router', '–', 'second'],
  ]
  expect(table(['', 'ms', 'which'], rows).split('\n').slice(0, 3)).toEqual([
    '|  | ms | which |',
    '| --- | ---: | --- |',
    '| edge | 1 | first |',
  ])
})
