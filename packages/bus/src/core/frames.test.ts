import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeFrames, encodeMessages, FRAME_OVERHEAD, frameKind, senderOf, type Frame } from './frames.ts'

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
  it('come out as they went in, in order, whatever the message size', () => {
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
