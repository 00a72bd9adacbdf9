import fc from 'fast-check'
import { expect, test } from 'vitest'
import { VENDOR_PROFILES } from '../vendors/index.ts'
import { alternating, messagesFor } from './translated-messages.ts'

const system = (content: string) => ({ role: 'system', content })
const user = (content: unknown) => ({ role: 'user', content })
const model = (content: string | null, more: object = {}) => ({ role: 'assistant', content, ...more })
const CALL = { id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } }
const result = { role: 'tool', tool_call_id: 'c', content: '72' }

interface Message {
  content: string | { text: string }[]
  reasoning_content?: string
}
const IMAGE = { type: 'image_url', image_url: { url: 'https://a/b.png' } }

test('turns of one role in a row are one turn', () => {
  expect(
    alternating([
      system('Rules'),
      system('More'),
      user('One'),
      user([IMAGE]),
      model('Well'),
      model(null, { tool_calls: [CALL] }),
      result,
      user('Two'),
    ]),
  ).toEqual([
    system('Rules\n\nMore'),
    user([{ type: 'text', text: 'One' }, IMAGE]),
    model('Well', { tool_calls: [CALL] }),
    result,
    user('Two'),
  ])
})

test('a system message that comes later is written in a turn of the user', () => {
  const turns = alternating([system('Rules'), user('Go'), system('Be quick'), model('Gone')])
  expect(turns).toEqual([system('Rules'), user('Go\n\n<system-reminder>\nBe quick\n</system-reminder>'), model('Gone')])
})

test('turns of the model that become one keep the thoughts of each', () => {
  const [first, second] = [{ reasoning_content: 'Hm' }, { reasoning_content: 'So' }]
  expect(alternating([user('Go'), model('Well', first), model(null, { ...second, tool_calls: [CALL] })])).toEqual([
    user('Go'),
    model('Well', { reasoning_content: 'Hm\n\nSo', tool_calls: [CALL] }),
  ])
  for (const turns of [
    [model(null, first), model('Well')],
    [model(null), model('Well', first)],
  ])
    expect(alternating(turns)).toEqual([model('Well', first)])
})

test('no template finds two turns of one role, or a system message behind the first, and no word or thought is lost', () => {
  const word = fc.uuid()
  const turn = fc.tuple(word, word).chain(([text, thought]) => {
    const thoughtful = model(text, { reasoning_content: thought })
    return fc.constantFrom(system(text), user(text), user([{ type: 'text', text }]), model(text), thoughtful)
  })
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 10 }), (messages) => {
      const turns = alternating(messages)
      turns.forEach(({ role }, at) => {
        expect(role).not.toBe(turns[at - 1]?.role)
        if (at > 0) expect(role).not.toBe('system')
      })
      const reported = JSON.stringify(turns)
      for (const { content, reasoning_content: thought = '' } of messages as Message[]) {
        expect(reported).toContain(typeof content === 'string' ? content : content[0]!.text)
        expect(reported).toContain(thought)
      }
    }),
  )
})

const call = { id: 'a', function: { name: 'look', arguments: '{}' } }

test('thoughts go back to targets that take them, and to no others', () => {
  const messages = [
    { role: 'assistant', content: null, reasoning_content: 'Hm', tool_calls: [call] },
    { role: 'assistant', content: null, reasoning_content: 'Well' },
    { role: 'user', content: 'x' },
  ]
  const writtenFor = (vendor: 'deepseek' | 'groq') =>
    messagesFor({ ...VENDOR_PROFILES[vendor].messages, order: 'any' }, messages)
  expect(writtenFor('deepseek')).toEqual(messages)
  expect(writtenFor('groq')).toEqual([
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'user', content: 'x' },
  ])
})
