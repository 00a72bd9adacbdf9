import { expect, test } from 'vitest'
import { isSignOfLife } from './signs-of-life.ts'
import { splitEvents } from './split-events.ts'

test('events are split at each empty line, however it ends', () => {
  const texts = [': a\n\n', 'data: 1\r\n\r\n', 'data: 2\n\n', 'data: 3\r\r', 'data: 4']
  expect(splitEvents(Buffer.from(texts.join(''))).map(String)).toEqual(texts)
})

test('comments and pings are signs of life', () => {
  const isOne = (text: string) => isSignOfLife(Buffer.from(text))
  expect([': keep-alive\n\n', 'event: ping\ndata: {}\n\n'].map(isOne)).toEqual([true, true])
  expect(['data: {"choices":[]}\n\n', 'event: message_stop\ndata: {}\n\n'].map(isOne)).toEqual([false, false])
})
