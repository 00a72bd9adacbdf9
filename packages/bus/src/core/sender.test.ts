import { describe, expect, it } from 'vitest'
import { frameKind } from './frames.ts'
import { acknowledge, createSender, hasRoom, pushControl, pushData, rewind, takeFrame, type Sender } from './sender.ts'

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

  it('tells the producer to wait from a full window on, and to go on below it', () => {
    const sender = withData([99])
    expect(hasRoom(sender)).toBe(true)
    pushData(sender, new Uint8Array(1))
    expect(hasRoom(sender)).toBe(false)
    takeAll(sender)
    acknowledge(sender, 1)
    expect(hasRoom(sender)).toBe(true)
  })

  it('sends a frame that is larger than the window when nothing else is under way', () => {
    expect(takeAll(withData([10, 10], 5))).toEqual([1])
  })

  it('lets frames without data pass a full window', () => {
    const sender = withData([100])
    pushControl(sender, frameKind.end, new Uint8Array(50))
    expect(takeAll(sender)).toHaveLength(10 + 5)
  })

  it('sends again from where it is asked, but nothing acknowledged', () => {
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

  it('ignores acknowledgements that are old, repeated or of what was never sent', () => {
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
