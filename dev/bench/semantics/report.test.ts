import { expect, test } from 'vitest'
import { reportSemantics } from './report.ts'
import { outcomeOf } from './send-burst.ts'

const rowOf = (text: string, name: string) =>
  text
    .split('\n')
    .find((line) => line.startsWith(`| ${name} |`))
    ?.split(' | ')
    .slice(1)
    .join(' ')

test('a quota of 20 that serves 2 of 200 at once has refused 18 that fit, and served none beyond it', () => {
  const kills = { checked: 1_234, lost: 0 }
  const text = reportSemantics([
    { name: 'ours', burst: { servedAtOnce: 2, servedOneByOne: 18, failed: 0 }, kills },
    { name: 'theirs', burst: { servedAtOnce: 200, servedOneByOne: 0, failed: 1 }, kills: null },
  ])
  expect(rowOf(text, 'ours')).toBe('2 18 18 0 0 0 of 1,234 |')
  expect(rowOf(text, 'theirs')).toBe('200 0 0 180 1 – |')
})

test('a gateway that could not be measured has no figures, and its reason stands below', () => {
  const text = reportSemantics([
    { name: 'theirs', burst: 'none of 200 was served; the first reply: 401\n{}', kills: null },
  ])
  expect(rowOf(text, 'theirs')).toBe('– – – – – – |')
  expect(text).toContain('theirs: none of 200 was served; the first reply: 401 {}')
})

test.each([
  [200, 'data: {}\n\ndata: [DONE]\n\n', 'served'],
  [200, 'data: {"error":{}}\n\n', 'failed'],
  [429, '{"error":{"type":"pending"}}', 'refused'],
  [402, '{}', 'refused'],
  [503, '{}', 'failed'],
])('a %i that says %j is %s', (status, text, kind) => {
  expect(outcomeOf(status, text).kind).toBe(kind)
})
