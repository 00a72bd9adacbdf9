import { expect, test } from 'vitest'
import { showAccount } from './accounts.ts'
import { renderTable } from './command-result.ts'
import type { Gateway } from './gateway.ts'

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

/** A subject is the identity provider's word, and with some the person's own choice. */
const HOSTILE = 'eve\nplan     pro\u001b[2J\u009b31m\u202eadmin'
const SHOWN = String.raw`eve\u000aplan     pro\u001b[2J\u009b31m\u202eadmin`

test('a name commands no terminal and writes no line of its own', async () => {
  expect(renderTable([{ title: 'subject', cell: () => HOSTILE }], [1])).toBe(`subject\n${SHOWN}`)

  const view = { account: 'tag', kind: 'developer', issuer: 'https://id.test', subject: HOSTILE, plan: 'free' }
  const account = { ...view, unit: 'tokens', overage: false, extra: 0, keys: [], hasMoreKeys: false }
  const gatewayReturning = (reply: object) => ({ request: async () => reply }) as unknown as Gateway
  const { text } = await showAccount(gatewayReturning({ kind: 'account', account }), 'eve')
  expect(text.split('\n')).toContain(`subject  https://id.test|${SHOWN}`)
  const several = showAccount(gatewayReturning({ kind: 'ambiguous', matches: [`https://id.test|${HOSTILE}`] }), 'eve')
  await expect(several).rejects.toThrow(`https://id.test|${SHOWN}`)
})
