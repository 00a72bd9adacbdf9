/**
 * The worker's half of a numbered stream: what was produced and is not yet acknowledged.
 *
 * Every frame is kept until the caller has consumed it, so that any part can be sent again. At most `windowBytes` of
 * data are under way and unconsumed; what is produced beyond that waits here. Pure: no clock, no I/O.
 */

import { frameKind, NO_BYTES, type FrameKind } from './frames.ts'

export interface NumberedFrame {
  readonly n: number
  readonly kind: FrameKind
  readonly bytes: Uint8Array
}

export interface Sender {
  readonly windowBytes: number
  readonly frameBytes: number
  /** Frames that are not acknowledged, in order. */
  readonly frames: NumberedFrame[]
  /** Index in `frames` of the next one to send. */
  next: number
  /** The number that the next produced frame gets. */
  nextNumber: number
  /** Data bytes kept. */
  heldBytes: number
  /** Data bytes kept that have been sent. */
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
    append(sender, frameKind.data, bytes.subarray(at, at + sender.frameBytes))
  }
  sender.heldBytes += bytes.length
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

function append(sender: Sender, kind: FrameKind, bytes: Uint8Array): void {
  sender.frames.push({ n: sender.nextNumber++, kind, bytes })
}

/** Whether the producer may go on, or should wait for acknowledgements. */
export function hasRoom(sender: Sender): boolean {
  return sender.heldBytes < sender.windowBytes
}

/** The next frame to send, or undefined while there is none or the window is full. */
export function takeFrame(sender: Sender): NumberedFrame | undefined {
  const frame = sender.frames[sender.next]
  if (frame === undefined) return undefined
  const bytes = windowCost(frame)
  if (sender.sentBytes > 0 && sender.sentBytes + bytes > sender.windowBytes) return undefined
  sender.next++
  sender.sentBytes += bytes
  if (frame.n > sender.highest) sender.highest = frame.n
  return frame
}

/** The caller has consumed everything up to `n`. Numbers already acknowledged or never sent change nothing. */
export function acknowledge(sender: Sender, n: number): void {
  const first = sender.frames[0]
  if (first === undefined || n < first.n || n > sender.highest) return
  const count = n - first.n + 1
  for (let i = 0; i < count; i++) {
    const bytes = windowCost(sender.frames[i]!)
    sender.heldBytes -= bytes
    if (i < sender.next) sender.sentBytes -= bytes
  }
  sender.frames.splice(0, count)
  sender.next = Math.max(0, sender.next - count)
}

/** The caller asks for everything from `n` on again. */
export function rewind(sender: Sender, n: number): void {
  const first = sender.frames[0]
  if (first === undefined) return
  const target = Math.max(0, n - first.n)
  while (sender.next > target) sender.sentBytes -= windowCost(sender.frames[--sender.next]!)
}

function windowCost(frame: NumberedFrame): number {
  return frame.kind === frameKind.data ? frame.bytes.length : 0
}
