import { expect, test } from 'vitest'
import { frameKind, type FrameKind } from './frames.ts'
import { mayWaitMs } from './urgency.ts'

const PATIENCE = { chunkGapMs: 1, unhurriedMs: 5 }
const waits = (kind: FrameKind, sinceLastMessageMs: number) => mayWaitMs(kind, sinceLastMessageMs, PATIENCE)

test('what somebody waits for leaves at the end of the turn, however busy the way is', () => {
  const { head, end, failure, piece, reject, unknown, pull, resume, stop, part } = frameKind
  for (const kind of [head, end, failure, piece, reject, unknown, pull, resume, stop, part]) {
    expect(waits(kind, 0)).toBe(0)
  }
})

test('acknowledgements and signs of life travel with others', () => {
  const { accept, sent, ack, mark, echo } = frameKind
  for (const kind of [accept, sent, ack, mark, echo]) expect(waits(kind, 1_000)).toBe(5)
})

test.each([
  [0, 1],
  [0.9, 1],
  [1, 0],
  [50, 0],
])('a chunk %d ms after the last message waits %d ms', (sinceLastMessageMs, expected) => {
  expect(waits(frameKind.data, sinceLastMessageMs)).toBe(expected)
})
