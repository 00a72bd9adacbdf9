import { expect, test } from 'vitest'
import { countEvents } from './count-events.ts'

test.each([
  ['', 0],
  ['data: {"a":1}\n\n', 1],
  ['data: 1\n\ndata: 2\n\n', 2],
  ['data: 1\r\n\r\ndata: 2\r\n\r\n', 2],
  ['event: x\ndata: 1\n\n', 1],
  ['data: 1\n', 0],
])('%j ends %i events', (text, events) => {
  expect(countEvents(Buffer.from(text))).toBe(events)
})
