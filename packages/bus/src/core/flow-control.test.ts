import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  acknowledge,
  announced,
  consume,
  countSent,
  createSendWindow,
  createReceiver,
  createSender,
  echo,
  hasCapacity,
  inFlightBytes,
  hasOpenWindow,
  pushControl,
  pushData,
  receive,
  rewind,
  takeAck,
  takeFrame,
  takeMark,
  type Sender,
} from './flow-control.ts'
import { frameKind } from './messages.ts'

const takeAll = (sender: Sender): number[] => {
  const numbers: number[] = []
  for (let frame = takeFrame(sender); frame !== undefined; frame = takeFrame(sender)) numbers.push(frame.n)
  return numbers
}
const withData = (sizes: number[], windowBytes = 100, frameBytes = 10): Sender => {
  const sender = createSender(windowBytes, frameBytes)
  for (const size of sizes) pushData(sender, new Uint8Array(size))
  return sender
}

describe('the sending side of a stream', () => {
  it('numbers frames from 1 and splits large data', () => {
    const sender = withData([25, 5])
    expect(sender.frames.map(({ n, bytes }) => [n, bytes.length])).toEqual([
      [1, 10],
      [2, 10],
      [3, 5],
      [4, 5],
    ])
  })

  it('splits a large end into pieces that come before it', () => {
    const sender = createSender(100, 10)
    pushControl(sender, frameKind.end, new Uint8Array(25))
    expect(sender.frames.map(({ kind, bytes }) => [kind, bytes.length])).toEqual([
      [frameKind.piece, 10],
      [frameKind.piece, 10],
      [frameKind.end, 5],
    ])
  })

  it('sends no more than its window until something is acknowledged', () => {
    const sender = withData([150])
    expect(takeAll(sender)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    acknowledge(sender, 3)
    expect(takeAll(sender)).toEqual([11, 12, 13])
    expect(sender.heldBytes).toBe(120)
  })

  it('lets the producer wait from a full window on, and go on below it', () => {
    const sender = withData([99])
    expect(hasCapacity(sender)).toBe(true)
    pushData(sender, new Uint8Array(1))
    expect(hasCapacity(sender)).toBe(false)
    takeAll(sender)
    acknowledge(sender, 1)
    expect(hasCapacity(sender)).toBe(true)
  })

  it('sends a frame that is larger than the window when nothing else is under way', () => {
    expect(takeAll(withData([10, 10], 5))).toEqual([1])
  })

  it('lets frames without data pass a full window', () => {
    const sender = withData([100])
    pushControl(sender, frameKind.end, new Uint8Array(50))
    expect(takeAll(sender)).toHaveLength(10 + 5)
  })

  it('sends again from the requested number, but nothing acknowledged', () => {
    const sender = withData([50])
    takeAll(sender)
    acknowledge(sender, 2)
    rewind(sender, 4)
    expect(takeAll(sender)).toEqual([4, 5])
    rewind(sender, 1)
    expect(takeAll(sender)).toEqual([3, 4, 5])
    rewind(sender, 9)
    expect(takeAll(sender)).toEqual([])
  })

  it('ignores acknowledgements that are old, repeated or of frames that were never sent', () => {
    const sender = withData([50])
    takeFrame(sender)
    takeFrame(sender)
    acknowledge(sender, 5)
    expect(sender.heldBytes).toBe(50)
    acknowledge(sender, 2)
    acknowledge(sender, 2)
    acknowledge(sender, 1)
    expect(sender.heldBytes).toBe(30)
    expect(takeAll(sender)).toEqual([3, 4, 5])
  })

  it('counts right when an acknowledgement arrives for frames it was about to send again', () => {
    const sender = withData([100])
    takeAll(sender)
    rewind(sender, 1)
    takeFrame(sender)
    acknowledge(sender, 4)
    expect(sender.sentBytes).toBe(0)
    expect(takeAll(sender)).toEqual([5, 6, 7, 8, 9, 10])
    acknowledge(sender, 10)
    expect([sender.heldBytes, sender.sentBytes, sender.frames.length]).toEqual([0, 0, 0])
  })

  it('copies no data, and keeps a copy of a control frame', () => {
    const sender = createSender(100, 10)
    const bytes = Buffer.from('before')
    pushData(sender, bytes)
    pushControl(sender, frameKind.end, bytes)
    bytes.write('after!')
    expect(sender.frames.map((frame) => Buffer.from(frame.bytes).toString())).toEqual(['after!', 'before'])
  })
})

describe('the receiving side of a stream', () => {
  it.each([
    { name: 'delivers what comes in order', frames: [1, 2, 3], verdicts: ['deliver', 'deliver', 'deliver'] },
    {
      name: 'drops what came before',
      frames: [1, 2, 1, 2, 3],
      verdicts: ['deliver', 'deliver', 'drop', 'drop', 'deliver'],
    },
    { name: 'requests missing frames once', frames: [1, 3, 4, 5], verdicts: ['deliver', 'resume', 'drop', 'drop'] },
    {
      name: 'requests the frames of every gap',
      frames: [2, 1, 3, 2],
      verdicts: ['resume', 'deliver', 'resume', 'deliver'],
    },
  ])('$name', ({ frames, verdicts }) => {
    const receiver = createReceiver(100, 200)
    expect(frames.map((n) => receive(receiver, n, 1, 0))).toEqual(verdicts)
  })

  it('sends the resume again when it seems to be lost', () => {
    const receiver = createReceiver(100, 200)
    expect([0, 100, 199, 200, 300].map((nowMs) => receive(receiver, 5, 1, nowMs))).toEqual([
      'resume',
      'drop',
      'drop',
      'resume',
      'drop',
    ])
  })

  it('notices a lost tail by the last number that the worker reports', () => {
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

  it('never acknowledges bytes that were not consumed, however the reader counts', () => {
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

describe('the bytes in flight to a process', () => {
  it('are the bytes sent after the last mark that came back', () => {
    const sendWindow = createSendWindow(100, 30)
    expect([countSent(sendWindow, 29), countSent(sendWindow, 1)]).toEqual([false, true])
    const first = takeMark(sendWindow, 0)
    countSent(sendWindow, 70)
    expect(hasOpenWindow(sendWindow)).toBe(false)
    echo(sendWindow, first)
    expect([inFlightBytes(sendWindow), hasOpenWindow(sendWindow)]).toEqual([70, true])
  })

  it('are cleared by a later mark when an earlier one or its echo was lost', () => {
    const sendWindow = createSendWindow(100, 30)
    countSent(sendWindow, 50)
    const lost = takeMark(sendWindow, 5)
    countSent(sendWindow, 50)
    const later = takeMark(sendWindow, 7)
    expect(echo(sendWindow, later)).toBe(7)
    expect(inFlightBytes(sendWindow)).toBe(0)
    expect([echo(sendWindow, lost), echo(sendWindow, later)]).toEqual([null, null])
    expect(inFlightBytes(sendWindow)).toBe(0)
  })
})
