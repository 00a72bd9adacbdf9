/**
 * Bounds the bytes under way, of each stream and to each process. Pure: the clock is an argument.
 */

import { frameKind, NO_BYTES, type FrameKind } from './messages.ts'

export interface NumberedFrame {
  readonly n: number
  readonly kind: FrameKind
  readonly bytes: Uint8Array
  /** Bytes for the reader. */
  readonly dataBytes: number
}

/**
 * The worker's half: the produced frames that are not yet acknowledged.
 *
 * Every frame is kept until the caller has consumed it, so that any part can be sent again. At most `windowBytes` of
 * data are under way and unconsumed; data beyond that wait here.
 */
export interface Sender {
  readonly windowBytes: number
  readonly frameBytes: number
  /** Frames that are not acknowledged, in order. */
  readonly frames: NumberedFrame[]
  /** Index in `frames` of the next one to send. */
  next: number
  /** The number that the next produced frame gets. */
  nextNumber: number
  /** Data bytes that the reader has not taken. */
  heldBytes: number
  /** Those of them that have been sent. */
  sentBytes: number
  /** The highest number ever sent. */
  highest: number
}

export function createSender(windowBytes: number, frameBytes: number): Sender {
  return { windowBytes, frameBytes, frames: [], next: 0, nextNumber: 1, heldBytes: 0, sentBytes: 0, highest: 0 }
}

/** Appends data, in frames of at most `frameBytes`. They are views of `bytes`: the producer must not write there again. */
export function pushData(sender: Sender, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; at += sender.frameBytes) {
    const piece = bytes.subarray(at, at + sender.frameBytes)
    append(sender, frameKind.data, piece, piece.length)
  }
}

/** Appends a frame that counts towards no window; a payload too large for one frame goes ahead in pieces. */
export function pushControl(sender: Sender, kind: FrameKind, payload: Uint8Array): void {
  let rest: Uint8Array = payload.length === 0 ? NO_BYTES : Buffer.from(payload)
  while (rest.length > sender.frameBytes) {
    append(sender, frameKind.piece, rest.subarray(0, sender.frameBytes))
    rest = rest.subarray(sender.frameBytes)
  }
  append(sender, kind, rest)
}

function append(sender: Sender, kind: FrameKind, bytes: Uint8Array, dataBytes = 0): void {
  sender.frames.push({ n: sender.nextNumber++, kind, bytes, dataBytes })
  sender.heldBytes += dataBytes
}

/** Returns true when the producer may go on; otherwise it waits for acknowledgements. */
export function hasCapacity(sender: Sender): boolean {
  return sender.heldBytes < sender.windowBytes
}

/** The next frame to send, or undefined while there is none or the window is full. */
export function takeFrame(sender: Sender): NumberedFrame | undefined {
  const frame = sender.frames[sender.next]
  if (frame === undefined) return undefined
  const { dataBytes } = frame
  if (sender.sentBytes > 0 && sender.sentBytes + dataBytes > sender.windowBytes) return undefined
  sender.next++
  sender.sentBytes += dataBytes
  if (frame.n > sender.highest) sender.highest = frame.n
  return frame
}

/** The caller has consumed everything up to `n`. Numbers already acknowledged or never sent change nothing. */
export function acknowledge(sender: Sender, n: number): void {
  const first = sender.frames[0]
  if (first === undefined || n < first.n || n > sender.highest) return
  const count = n - first.n + 1
  for (let i = 0; i < count; i++) {
    const { dataBytes } = sender.frames[i]!
    sender.heldBytes -= dataBytes
    if (i < sender.next) sender.sentBytes -= dataBytes
  }
  sender.frames.splice(0, count)
  sender.next = Math.max(0, sender.next - count)
}

/** The caller requests everything from `n` on again. */
export function rewind(sender: Sender, n: number): void {
  const first = sender.frames[0]
  if (first === undefined) return
  const target = Math.max(0, n - first.n)
  while (sender.next > target) sender.sentBytes -= sender.frames[--sender.next]!.dataBytes
}

export type Verdict = 'deliver' | 'drop' | 'resume'

/**
 * The caller's half: the frames that have come in order, and the reader's share of them.
 *
 * Frames count only in order. A duplicate is dropped. A frame after a gap is dropped too, and the missing ones are
 * requested again, so nothing is ever held here.
 */
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
  resumeFrom: number
  resumeRequestedAtMs: number
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
    resumeFrom: 0,
    resumeRequestedAtMs: 0,
  }
}

/**
 * Judges the frame `n`, which carries `dataBytes` for the reader. `resume`: drop it, and request again from
 * `expected` on.
 */
export function receive(receiver: Receiver, n: number, dataBytes: number, nowMs: number): Verdict {
  if (n < receiver.expected) return 'drop'
  if (n > receiver.expected) return shouldResume(receiver, nowMs) ? 'resume' : 'drop'
  receiver.expected++
  if (dataBytes > 0) {
    receiver.numbers.push(n)
    receiver.sizes.push(dataBytes)
  }
  return 'deliver'
}

/** The worker says that it has sent everything up to `n`: true when the missing frames should be requested. */
export function announced(receiver: Receiver, n: number, nowMs: number): boolean {
  return n >= receiver.expected && shouldResume(receiver, nowMs)
}

/** One resume per gap is under way at a time; it is sent again when it seems to be lost. */
function shouldResume(receiver: Receiver, nowMs: number): boolean {
  if (receiver.resumeFrom === receiver.expected && nowMs - receiver.resumeRequestedAtMs < receiver.resumeRetryMs)
    return false
  receiver.resumeFrom = receiver.expected
  receiver.resumeRequestedAtMs = nowMs
  return true
}

/** The reader has taken `bytes` more. Returns true when an acknowledgement is due. */
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

/**
 * Counts the bytes on their way from this process to one other, so that no broker has to hold more than it may.
 *
 * The sender puts a mark into the flow every so often; the receiver echoes it. All bytes after the last echoed mark
 * count as in flight. A mark or an echo that is lost delays the count until the next one, never falsifies it. This
 * window is about reception alone: a reader that consumes slowly holds back its own stream only.
 */
export interface SendWindow {
  readonly windowBytes: number
  readonly markEveryBytes: number
  sent: number
  echoed: number
  lastMark: number
  markedAtBytes: number
  /** Marks under way: number, bytes sent before it, and when it was sent. */
  readonly marks: { n: number; sent: number; atMs: number }[]
}

export function createSendWindow(windowBytes: number, markEveryBytes: number): SendWindow {
  return { windowBytes, markEveryBytes, sent: 0, echoed: 0, lastMark: 0, markedAtBytes: 0, marks: [] }
}

export function inFlightBytes(sendWindow: SendWindow): number {
  return sendWindow.sent - sendWindow.echoed
}

export function hasOpenWindow(sendWindow: SendWindow): boolean {
  return inFlightBytes(sendWindow) < sendWindow.windowBytes
}

/** Counts bytes sent; true when a mark is due. */
export function countSent(sendWindow: SendWindow, bytes: number): boolean {
  sendWindow.sent += bytes
  return sendWindow.sent - sendWindow.markedAtBytes >= sendWindow.markEveryBytes
}

/** The number of a mark that is sent now. */
export function takeMark(sendWindow: SendWindow, nowMs: number): number {
  sendWindow.markedAtBytes = sendWindow.sent
  sendWindow.lastMark = (sendWindow.lastMark + 1) >>> 0
  sendWindow.marks.push({ n: sendWindow.lastMark, sent: sendWindow.sent, atMs: nowMs })
  return sendWindow.lastMark
}

/** Mark `n` has arrived, and so has or is lost all that went before it. Returns when it was sent. */
export function echo(sendWindow: SendWindow, n: number): number | null {
  const at = sendWindow.marks.findIndex((mark) => mark.n === n)
  if (at < 0) return null
  const { sent, atMs } = sendWindow.marks[at]!
  sendWindow.echoed = sent
  sendWindow.marks.splice(0, at + 1)
  return atMs
}
