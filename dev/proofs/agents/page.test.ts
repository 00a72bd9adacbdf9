import { expect, test } from 'vitest'
import { writePage, type Result } from './page.ts'
import { COLUMNS, type Cell, type Row } from './prove-agent.ts'

const rowOf = (cell: Cell): Row => Object.fromEntries(COLUMNS.map((column) => [column, cell])) as Row
const result = (title: string, target: Result['target'], row: Result['row'], version = '1.0'): Result => ({
  agent: { title, version },
  target,
  row,
})
const linesOf = (page: string) => page.split('\n').filter((line) => /^(?:\| \S.*`|- \w+ over)/.test(line))

test('a run replaces the rows and notes that it shows, and keeps those of other agents', () => {
  const first = writePage(
    [
      result('One', 'chat', rowOf('yes')),
      result('Two', 'chat', rowOf('no: it broke')),
      result('Two', 'messages', rowOf('yes')),
    ],
    '',
    '2026-11-01',
  )
  const second = writePage([result('Two', 'chat', rowOf('yes'), '2.0')], first, '2026-11-02')
  const yes = COLUMNS.map(() => 'yes').join(' | ')
  expect(linesOf(second)).toEqual([
    `| One | 1.0 | \`chat\` | ${yes} |`,
    `| Two | 1.0 | \`messages\` | ${yes} |`,
    `| Two | 2.0 | \`chat\` | ${yes} |`,
  ])
})

test('the page says plainly which agent could not be installed, and why a cell does not hold', () => {
  const page = writePage(
    [
      result('One', 'chat', { notInstalled: 'no such package' }),
      result('Two', 'chat', { ...rowOf('yes'), ledger: 'no: 3 of 4 requests', tools: 'n/a: it has none' }),
    ],
    '',
    '2026-11-01',
  )
  const lines = linesOf(page)
  expect(lines[0]).toBe(`| One | 1.0 | \`chat\` | ${COLUMNS.map(() => 'not installed').join(' | ')} |`)
  expect(lines[1]).toContain('| n/a |')
  expect(lines.slice(2)).toEqual([
    '- One over chat, not installed: no such package',
    '- Two over chat, ledger: 3 of 4 requests',
    '- Two over chat, tools: it has none',
  ])
})
