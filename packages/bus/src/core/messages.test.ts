import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import {
  decodeFrames,
  decodeJob,
  encodeJob,
  encodeMessages,
  FRAME_OVERHEAD,
  frameKind,
  mayWaitMs,
  senderOf,
  type Frame,
  type FrameKind,
} from './messages.ts'

const u32 = fc.integer({ min: 0, max: 0xffffffff })
const frame: fc.Arbitrary<Frame> = fc.record({
  kind: fc.constantFrom(...Object.values(frameKind)),
  stream: u32,
  n: u32,
  bytes: fc.uint8Array({ maxLength: 200 }),
})

function decode(messages: Uint8Array[]): Frame[] {
  const frames: Frame[] = []
  for (const message of messages) {
    decodeFrames(message, (kind, stream, n, bytes) => frames.push({ kind, stream, n, bytes: Uint8Array.from(bytes) }))
  }
  return frames
}

describe('frames', () => {
  it('come out as they went in, in order, for every message size', () => {
    fc.assert(
      fc.property(fc.array(frame), fc.integer({ min: 50, max: 2_000 }), (frames, maxBytes) => {
        const messages = encodeMessages('sender', frames, maxBytes)
        expect(decode(messages)).toEqual(frames)
        for (const message of messages) {
          expect(senderOf(message)).toBe('sender')
          expect(message.length <= maxBytes || decode([message]).length === 1).toBe(true)
        }
      }),
    )
  })

  it('travel together as far as the message size allows', () => {
    const frames = Array.from({ length: 10 }, (_, n) => ({
      kind: frameKind.data,
      stream: 1,
      n,
      bytes: new Uint8Array(87),
    }))
    const header = 2 + 'sender'.length
    expect(encodeMessages('sender', frames, header + 5 * (FRAME_OVERHEAD + 87))).toHaveLength(2)
    expect(encodeMessages('sender', frames, header + 5 * (FRAME_OVERHEAD + 87) - 1)).toHaveLength(3)
    expect(encodeMessages('sender', [], 1_000)).toEqual([])
  })

  it('are refused when a message is cut short anywhere', () => {
    const [message] = encodeMessages(
      'sender',
      [{ kind: frameKind.data, stream: 1, n: 2, bytes: new Uint8Array(20) }],
      1_000,
    )
    const header = 2 + 'sender'.length
    const lengths = Array.from({ length: message!.length }, (_, i) => i).filter(
      (length) => length > 0 && length !== header,
    )
    for (const length of lengths) {
      const cut = message!.subarray(0, length)
      expect(() => [senderOf(cut), decode([cut])]).toThrow(RangeError)
    }
    expect(decode([message!.subarray(0, header)])).toEqual([])
  })

  it('are refused in an unknown version', () => {
    expect(() => senderOf(Uint8Array.of(9, 0))).toThrow('version 9')
  })
})

const TIMEOUTS = { chunkGapMs: 4, unhurriedMs: 5 }
const waits = (kind: FrameKind, sinceLastMessageMs: number) => mayWaitMs(kind, sinceLastMessageMs, TIMEOUTS)

test('a frame that somebody waits for leaves at the end of the turn, however busy the way is', () => {
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
  [0, 4],
  [3.9, 4],
  [4, 0],
  [50, 0],
])('a chunk %d ms after the last message waits %d ms', (sinceLastMessageMs, expected) => {
  expect(waits(frameKind.data, sinceLastMessageMs)).toBe(expected)
})

describe('a job message', () => {
  it('comes out as it went in, with its body or without', () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.uint8Array({ minLength: 1 }), fc.boolean(), (header, body, inline) => {
        const job = { callerId: 'caller', stream: 4_000_000_000, header, partBytes: 7 }
        const decoded = decodeJob(encodeJob({ ...job, body, inline }))
        expect({ ...decoded, header: Uint8Array.from(decoded.header), inlineBody: null }).toEqual({
          ...job,
          bodyBytes: body.length,
          inlineBody: null,
        })
        expect(decoded.inlineBody && Uint8Array.from(decoded.inlineBody)).toEqual(inline ? body : null)
      }),
    )
  })

  it('carries an empty body as a body', () => {
    const message = encodeJob({
      callerId: 'c',
      stream: 1,
      header: Buffer.from('h'),
      partBytes: 1,
      body: Buffer.alloc(0),
      inline: true,
    })
    expect(decodeJob(message).inlineBody).toHaveLength(0)
  })

  it('is refused when it is cut short or of another version', () => {
    const message = encodeJob({
      callerId: 'c',
      stream: 1,
      header: Buffer.from('head'),
      partBytes: 1,
      body: Buffer.from('body'),
      inline: true,
    })
    for (const length of [0, 1, 5, 20, message.length - 1]) {
      expect(() => decodeJob(message.subarray(0, length))).toThrow(RangeError)
    }
    message[0] = 2
    expect(() => decodeJob(message)).toThrow('version 2')
  })
})
