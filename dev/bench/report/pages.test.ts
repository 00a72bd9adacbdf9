import { expect, test } from 'vitest'
import { replacePart } from './pages.ts'

const PAGE =
  'Before\n<!-- begin compare -->\nold\n<!-- end compare -->\nAfter\n<!-- begin scale --><!-- end scale -->\n'

test('a part is written between its markers, and nothing else changes', () => {
  expect(replacePart(PAGE, 'compare', 'new\n')).toBe(
    'Before\n<!-- begin compare -->\n\nnew\n\n<!-- end compare -->\nAfter\n<!-- begin scale --><!-- end scale -->\n',
  )
})

test('writing the same again changes nothing', () => {
  const once = replacePart(PAGE, 'scale', 'a table')
  expect(replacePart(once, 'scale', 'a table')).toBe(once)
})

test('a page without the markers is refused rather than spoiled', () => {
  expect(() => replacePart('Before', 'compare', 'new')).toThrow('begin compare')
})
