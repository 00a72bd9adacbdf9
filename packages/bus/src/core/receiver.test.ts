import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { announced, consume, createReceiver, receive, takeAck } from './receiver.ts'

describe('the receiving side of a stream', () => {
  it.each([
    { name: 'delivers what comes in order', frames: [1, 2, 3], verdicts: ['deliver', 'deliver', 'deliver'] },
    {
      name: 'drops what came before',
      frames: [1, 2, 1, 2, 3],
      verdicts: ['deliver', 'deliver', 'drop', 'drop', 'deliver'],
    },
    { name: 'asks once for what is missing', frames: [1, 3, 4, 5], verdicts: ['deliver', 'resume', 'drop', 'drop'] },
    { name: 'asks anew for every gap', frames: [2, 1, 3, 2], verdicts: ['resume', 'deliver', 'resume', 'deliver'] },
  ])('$name', ({ frames, verdicts }) => {
    const receiver = createReceiver(100, 200)
    expect(frames.map((n) => receive(receiver, n, 1, 0))).toEqual(verdicts)
  })

  it('asks again when the question seems to be lost', () => {
    const receiver = createReceiver(100, 200)
    expect([0, 100, 199, 200, 300].map((nowMs) => receive(receiver, 5, 1, nowMs))).toEqual([
      'resume',
      'drop',
      'drop',
      'resume',
      'drop',
    ])
  })

  it('notices a lost tail by what the worker says it has sent', () => {
    const receiver = createReceiver(100, 200)
    receive(receiver, 1, 1, 0)
    expect(announced(receiver, 1, 0)).toBe(false)
    expect(announced(receiver, 2, 0)).toBe(true)
    expect(announced(receiver, 2, 100)).toBe(false)
    expect(announced(receiver, 2, 200)).toBe(true)
  })

  it('acknowledges a frame when all of it and of those before it is consumed', () => {
    const receiver = createReceiver(1_000, 200)
    for (const [n, bytes] of [
      [1, 0],
      [2, 10],
      [3, 20],
      [4, 0],
    ] as const)
      receive(receiver, n, bytes, 0)
    expect(takeAck(receiver)).toBe(1)
    consume(receiver, 9)
    expect(takeAck(receiver)).toBe(1)
    consume(receiver, 2)
    expect(takeAck(receiver)).toBe(2)
    consume(receiver, 19)
    expect(takeAck(receiver)).toBe(4)
  })

  it('acknowledges in between only when it is worth it', () => {
    const receiver = createReceiver(25, 200)
    for (let n = 1; n <= 6; n++) receive(receiver, n, 10, 0)
    expect([10, 10, 10].map((bytes) => consume(receiver, bytes))).toEqual([false, false, true])
    expect(takeAck(receiver)).toBe(3)
    expect([10, 10, 10].map((bytes) => consume(receiver, bytes))).toEqual([false, false, true])
  })

  it('never acknowledges what was not consumed, however the reader counts', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 50 })), fc.array(fc.nat({ max: 50 })), (sizes, reads) => {
        const receiver = createReceiver(100, 200)
        sizes.forEach((bytes, i) => receive(receiver, i + 1, bytes, 0))
        let left = sizes.reduce((sum, bytes) => sum + bytes, 0)
        let consumed = 0
        for (const wanted of reads) {
          const bytes = Math.min(wanted, left)
          consume(receiver, bytes)
          consumed += bytes
          left -= bytes
          const acknowledged = sizes.slice(0, takeAck(receiver)).reduce((sum, size) => sum + size, 0)
          expect(acknowledged).toBeLessThanOrEqual(consumed)
          expect(consumed - acknowledged).toBeLessThanOrEqual(50)
        }
        consume(receiver, left)
        expect(takeAck(receiver)).toBe(sizes.length)
      }),
    )
  })
})
