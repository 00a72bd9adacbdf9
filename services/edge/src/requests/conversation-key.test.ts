/**
 * Pools with `affinity: conversation` keep a conversation on the target that holds its prompt cache. The turns of one
 * conversation have one key, though clients change parts of its beginning.
 */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { chat } from './inference-kinds.ts'
import { messages } from './messages.ts'
import { responses } from './responses.ts'

/** A day and a time, as clients write them into prompts. */
const moment = fc.date({ min: new Date('2024-01-01'), max: new Date('2034-12-31'), noInvalidDate: true })
const WRITTEN: ((date: Date) => string)[] = [
  (date) => `Today's date is ${date.toISOString().slice(0, 10)}.`,
  (date) => `The time is ${date.toISOString()}.`,
  (date) => `Today's date: ${date.toDateString()}`,
  (date) => `It is ${date.toUTCString()}.`,
  (date) => `Now: ${date.toLocaleString('en-US', { timeZone: 'UTC' })}`,
  (date) => `Today is ${date.toLocaleDateString('en-US', { dateStyle: 'full', timeZone: 'UTC' })}.`,
  (date) => `Date: ${date.toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' })}`,
  (date) => `Datum: ${date.toLocaleDateString('de-DE', { timeZone: 'UTC' })}`,
  (date) => `<current_date>${date.toISOString().slice(0, 10)}</current_date>`,
  (date) => `Unix time: ${Math.floor(date.getTime() / 1_000)}`,
]
const style = fc.constantFrom(...WRITTEN)
const fingerprint = fc.stringMatching(/^[0-9a-f]{5}$/)

interface Turn {
  date: Date
  cch: string
  /** The prompt comes as one text, or in parts of which one is marked for the cache. */
  inParts: boolean
  later: number
}
const turn = fc.record<Turn>({ date: moment, cch: fingerprint, inParts: fc.boolean(), later: fc.nat(4) })
const twoTurns = fc.tuple(turn, turn, style, style, fc.nat(3))

const user = (content: unknown) => ({ role: 'user', content })
const later = (count: number) =>
  Array.from({ length: count }, (_, at) => [{ role: 'assistant', content: `Answer ${at}` }, user(`And ${at}?`)]).flat()

function blockOf({ cch }: Turn): string {
  return `x-anthropic-billing-header: cc_version=2.1.42.a3f; cc_entrypoint=cli; cch=${cch};`
}

const KINDS: Record<string, (turn: Turn, system: string, words: string, blockAt: number) => string> = {
  messages: (turn, system, words, blockAt) => {
    const part = (text: string) => ({ type: 'text', text })
    const parts = [part('You are an agent.'), { ...part(system), cache_control: { type: 'ephemeral' } }]
    const first = turn.inParts ? [{ ...part(words), cache_control: { type: 'ephemeral' } }] : words
    const request = {
      model: 'm',
      max_tokens: 9,
      system: parts.toSpliced(blockAt, 0, part(blockOf(turn))),
      messages: [user(first), ...later(turn.later)],
    }
    return messages(request, []).conversationKey!()
  },
  chat: (turn, system, words) => {
    const first = turn.inParts ? [{ type: 'text', text: words }] : words
    const prompt = { role: 'system', content: `${blockOf(turn)}\n${system}` }
    return chat({ model: 'm', messages: [prompt, user(first), ...later(turn.later)] }, []).conversationKey!()
  },
  responses: (turn, system, words) => {
    const first = turn.inParts ? [{ type: 'input_text', text: words }] : words
    const input = [{ role: 'developer', content: blockOf(turn) }, user(first), ...later(turn.later)]
    return responses({ model: 'm', instructions: system, input }, []).conversationKey!()
  },
}

describe.each(Object.entries(KINDS))('a conversation in %s', (_, keyOf) => {
  test('has one key, however the block, the date and the marks of the cache change', () => {
    fc.assert(
      fc.property(twoTurns, ([one, other, ofSystem, ofUser, blockAt]) => {
        const at = (each: Turn) =>
          keyOf(each, `Be brief.\n${ofSystem(each.date)}\nUse tools.`, `${ofUser(each.date)} Fix it.`, blockAt)
        expect(at(one)).toBe(at(other))
      }),
    )
  })

  test('has another key than one with other words', () => {
    const of: Turn = { date: new Date('2026-11-29'), cch: '1fa0e', inParts: false, later: 0 }
    const keys = [
      keyOf(of, 'Be brief.', 'Fix it.', 0),
      keyOf(of, 'Be brief.', 'Fix row 4711.', 0),
      keyOf(of, 'Be brief.', 'Fix row 4712.', 0),
      keyOf(of, 'Be verbose.', 'Fix it.', 0),
      keyOf(of, 'Be brief.', 'Explain x-anthropic-billing-header: cch=1fa0e;', 0),
      keyOf(of, 'Be brief.', 'Explain x-anthropic-billing-header: cch=2fa0e;', 0),
    ]
    expect(new Set(keys).size).toBe(keys.length)
  })
})
