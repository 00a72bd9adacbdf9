import { expect, test } from 'vitest'
import type { Seen } from '../clients/seen.ts'
import { checkConversations } from './conversations.ts'
import type { Brought } from './facts.ts'
import { CALL, SEEN, WELL } from './well.ts'

const NOTHING: Brought = { ids: [], thoughtsOf: [], hasSummary: false }

/** The second request of a conversation, and its two calls. */
function wrong(kind: Seen['kind'], brought: Partial<Brought>): string {
  const second = { ...SEEN, id: 'r1.2', kind, follows: ['r1'] }
  const calls = [CALL, { ...CALL, id: 'r1.2', responseId: 'answer-2', brought: { ...NOTHING, ...brought } }]
  const { violations } = checkConversations({ ...WELL, seen: [SEEN, second], calls })
  return violations.map(({ what }) => what).join()
}

test('a model that does not get its thoughts back, each once and in order, is found out', () => {
  expect(wrong('thinker', { thoughtsOf: ['answer-1'] })).toBe('')
  expect(wrong('thinker', {})).toContain('got the thoughts of no response and not of r1')
  expect(wrong('thinker', { thoughtsOf: ['answer-9'] })).toContain('got the thoughts of answer-9')
  expect(wrong('thinker', { thoughtsOf: ['answer-1', 'answer-1'] })).toContain('got the thoughts of answer-1, answer-1')
})

test('a model that does not get the summary of a compaction is found out', () => {
  expect(wrong('compact', { hasSummary: true })).toBe('')
  expect(wrong('compact', {})).toContain('did not get the summary')
})

test('a model that does not get an earlier turn of a WebSocket is found out', () => {
  expect(wrong('socket', { ids: ['r1', 'r1.2'] })).toBe('')
  expect(wrong('socket', { ids: ['r1.2'] })).toContain('did not get r1')
})
