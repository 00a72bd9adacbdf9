/**
 * The caller's half of a numbered stream: what has come in order, and how much of it the reader has consumed.
 *
 * Frames count only in order. A duplicate is dropped; a frame after a gap is dropped too and the missing ones are asked
 * for again, so nothing is ever held here. Pure: the clock is an argument.
 */

export type Verdict = 'deliver' | 'drop' | 'resume'

export interface Receiver {
  readonly ackEveryBytes: number
  readonly resumeRetryMs: number
  /** The number that comes next. */
  expected: number
  /** Delivered data frames that are not fully consumed: numbers and sizes, from `head` on. */
  readonly numbers: number[]
  readonly sizes: number[]
  head: number
  /** Consumed bytes of the frame at `head`. */
  partlyConsumed: number
  consumedSinceAck: number
  askedFor: number
  askedAtMs: number
}

export function createReceiver(ackEveryBytes: number, resumeRetryMs: number): Receiver {
  return {
    ackEveryBytes,
    resumeRetryMs,
    expected: 1,
    numbers: [],
    sizes: [],
    head: 0,
    partlyConsumed: 0,
    consumedSinceAck: 0,
    askedFor: 0,
    askedAtMs: 0,
  }
}

/** Judges the frame `n`, which carries `dataBytes` for the reader. `resume`: drop it and ask from `expected` on. */
export function receive(receiver: Receiver, n: number, dataBytes: number, nowMs: number): Verdict {
  if (n < receiver.expected) return 'drop'
  if (n > receiver.expected) return shouldAsk(receiver, nowMs) ? 'resume' : 'drop'
  receiver.expected++
  if (dataBytes > 0) {
    receiver.numbers.push(n)
    receiver.sizes.push(dataBytes)
  }
  return 'deliver'
}

/** The worker says that it has sent everything up to `n`: whether to ask for what is missing. */
export function announced(receiver: Receiver, n: number, nowMs: number): boolean {
  return n >= receiver.expected && shouldAsk(receiver, nowMs)
}

/** One question per gap is under way at a time; it is put again when it seems to be lost. */
function shouldAsk(receiver: Receiver, nowMs: number): boolean {
  if (receiver.askedFor === receiver.expected && nowMs - receiver.askedAtMs < receiver.resumeRetryMs) return false
  receiver.askedFor = receiver.expected
  receiver.askedAtMs = nowMs
  return true
}

/** The reader has taken `bytes` more. True when it is time to tell the worker. */
export function consume(receiver: Receiver, bytes: number): boolean {
  receiver.consumedSinceAck += bytes
  receiver.partlyConsumed += bytes
  const { sizes } = receiver
  while (receiver.head < sizes.length && receiver.partlyConsumed >= sizes[receiver.head]!) {
    receiver.partlyConsumed -= sizes[receiver.head++]!
  }
  if (receiver.head === sizes.length) {
    sizes.length = receiver.numbers.length = receiver.head = receiver.partlyConsumed = 0
  }
  return receiver.consumedSinceAck >= receiver.ackEveryBytes
}

/** The reader has left: every delivered frame counts as consumed. */
export function consumeAll(receiver: Receiver): void {
  receiver.sizes.length = receiver.numbers.length = receiver.head = receiver.partlyConsumed = 0
}

/** The number up to which everything has been consumed, for an acknowledgement that is sent now. */
export function takeAck(receiver: Receiver): number {
  receiver.consumedSinceAck = 0
  const unconsumed = receiver.numbers[receiver.head]
  return unconsumed === undefined ? receiver.expected - 1 : unconsumed - 1
}
