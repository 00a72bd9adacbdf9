import { expect, test } from 'vitest'
import { renderTable } from './answer.ts'

test('texts stand to the left, numbers to the right with thousands apart', () => {
  const columns = [
    { title: 'model', cell: (row: [string, number]) => row[0] },
    { title: 'tokens', cell: (row: [string, number]) => row[1] },
  ]
  const rows: [string, number][] = [
    ['svc-instant', 1_234_567.5],
    ['a', 0],
  ]
  expect(renderTable(columns, rows)).toBe(
    ['model             tokens', 'svc-instant  1,234,567.5', 'a                      0'].join('\n'),
  )
})

test('nothing to show is the titles alone', () => {
  expect(renderTable([{ title: 'one', cell: () => '' }], [])).toBe('one')
})
