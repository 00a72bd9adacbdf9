/**
 * The binary forms of frames and jobs, which processes send each other.
 *
 * One message carries many frames of many streams from one process to another:
 *
 *     message = version u8 · sender length u8 · sender (latin1) · frame…
 *     frame   = kind u8 · stream u32 · n u32 · length u32 · bytes          (little endian)
 *
 * `stream` is the caller's number for the job. The meaning of `n` depends on the kind and stands beside it below.
 *
 * A message of its own offers a job to a group of workers. Behind its subject, a frame offers it to one:
 *
 *     job   = version u8 · caller length u8 · caller (latin1) · stream u32 · part size u32 · body size u32 ·
 *             header length u32 · header · body, if it travels inline
 *     offer = subject length u8 · subject (latin1) · job
 *
 * A body that is not inline is pulled by the worker, in parts of `part size`. A message that breaks its form throws a
 * RangeError; the frames before the break have been visited by then.
 */

/**
 * Number 11 stays free: no release sends it, but builds after 0.1.0 did, to edges that offered it in the job's
 * header.
 */
export const frameKind = {
  // worker -> caller, numbered: `n` is the frame's place in the stream, from 1
  accept: 1,
  head: 2,
  data: 3,
  end: 4,
  failure: 5,
  /** The beginning of a head, end or failure that is too large for one frame. */
  piece: 6,

  // worker -> caller, not numbered
  /** Given back unserved; the bytes say why. */
  reject: 7,
  /** Heartbeat: `n` is the last number sent. */
  sent: 8,
  /** This worker does not know the stream. */
  unknown: 9,
  /** Requests part `n` of the job's body. */
  pull: 10,

  // caller -> worker
  /** Heartbeat and progress: everything up to `n` has been consumed. */
  ack: 16,
  /** Requests everything from `n` on again. */
  resume: 17,
  /** The caller has no use for the stream (any more). `n`: {@link WANTS_LAST_WORD}, or 0. */
  stop: 18,
  /** Part `n` of the job's body. */
  part: 19,
  /** A job for this worker by name. */
  offer: 20,

  // between processes, `stream` is 0
  /** Marks a place in the flow of messages; see `flow-control.ts`. */
  mark: 32,
  /** Reports that mark `n` has arrived. */
  echo: 33,
} as const
export type FrameKind = (typeof frameKind)[keyof typeof frameKind]

/** The `n` of a `stop` whose caller still waits for the last frame. */
export const WANTS_LAST_WORD = 1

export interface Frame {
  kind: FrameKind
  stream: number
  n: number
  bytes: Uint8Array
}

export const FRAME_OVERHEAD = 13
export const NO_BYTES = new Uint8Array(0)
const VERSION = 1

/** Packs frames into as few messages as `maxBytes` allows, in order. A frame larger than that gets its own message. */
export function encodeMessages(senderId: string, frames: readonly Frame[], maxBytes: number): Uint8Array[] {
  const sender = Buffer.from(senderId, 'latin1')
  const messages: Uint8Array[] = []
  let first = 0
  let size = 2 + sender.length
  for (let i = 0; i < frames.length; i++) {
    const frameSize = FRAME_OVERHEAD + frames[i]!.bytes.length
    if (i > first && size + frameSize > maxBytes) {
      messages.push(encodeMessage(sender, frames, first, i, size))
      first = i
      size = 2 + sender.length
    }
    size += frameSize
  }
  if (first < frames.length) messages.push(encodeMessage(sender, frames, first, frames.length, size))
  return messages
}

function encodeMessage(
  sender: Uint8Array,
  frames: readonly Frame[],
  first: number,
  past: number,
  size: number,
): Uint8Array {
  const message = Buffer.allocUnsafe(size)
  message[0] = VERSION
  message[1] = sender.length
  message.set(sender, 2)
  let at = 2 + sender.length
  for (let i = first; i < past; i++) {
    const frame = frames[i]!
    message[at] = frame.kind
    message.writeUInt32LE(frame.stream, at + 1)
    message.writeUInt32LE(frame.n, at + 5)
    message.writeUInt32LE(frame.bytes.length, at + 9)
    message.set(frame.bytes, at + FRAME_OVERHEAD)
    at += FRAME_OVERHEAD + frame.bytes.length
  }
  return message
}

export function senderOf(message: Uint8Array): string {
  if (message[0] !== VERSION) throw new RangeError(`frame message of unknown version ${message[0]}`)
  const past = 2 + (message[1] ?? 0)
  if (past > message.length) throw new RangeError('frame message ends inside its sender')
  return asBuffer(message).toString('latin1', 2, past)
}

/** Visits the frames of a message in order. Their bytes are views of the message. */
export function decodeFrames(
  message: Uint8Array,
  visit: (kind: FrameKind, stream: number, n: number, bytes: Uint8Array) => void,
): void {
  const buffer = asBuffer(message)
  let at = 2 + buffer[1]!
  while (at < buffer.length) {
    if (at + FRAME_OVERHEAD > buffer.length) throw new RangeError('frame message ends inside a frame')
    const start = at + FRAME_OVERHEAD
    const past = start + buffer.readUInt32LE(at + 9)
    if (past > buffer.length) throw new RangeError('frame message ends inside a frame')
    const bytes = past === start ? NO_BYTES : buffer.subarray(start, past)
    visit(buffer[at] as FrameKind, buffer.readUInt32LE(at + 1), buffer.readUInt32LE(at + 5), bytes)
    at = past
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

const UNHURRIED: ReadonlySet<FrameKind> = new Set([
  frameKind.accept,
  frameKind.sent,
  frameKind.ack,
  frameKind.mark,
  frameKind.echo,
])

export interface TimeoutPolicy {
  /** Least time between two messages that carry nothing but chunks: those of all streams to a process gather for so long. */
  chunkGapMs: number
  /** For frames that nobody waits for; far below the time to accept and the time between heartbeats. */
  unhurriedMs: number
}

/**
 * Returns the time that a frame may wait for others to travel with; 0: it leaves at the end of this turn. Nobody
 * waits for an acknowledgement, and a reader sees no difference of a few milliseconds between two chunks.
 */
export function mayWaitMs(kind: FrameKind, sinceLastMessageMs: number, timeoutPolicy: TimeoutPolicy): number {
  if (UNHURRIED.has(kind)) return timeoutPolicy.unhurriedMs
  if (kind === frameKind.data && sinceLastMessageMs < timeoutPolicy.chunkGapMs) return timeoutPolicy.chunkGapMs
  return 0
}

export interface JobMessage {
  callerId: string
  stream: number
  header: Uint8Array
  bodyBytes: number
  partBytes: number
  /** Null when the worker has to pull it. */
  inlineBody: Uint8Array | null
}

const FIXED_BYTES = 18

/** The message's bytes without its body. */
export function jobOverhead(callerId: string, header: Uint8Array): number {
  return FIXED_BYTES + callerId.length + header.length
}

export interface JobToEncode extends Omit<JobMessage, 'bodyBytes' | 'inlineBody'> {
  body: Uint8Array
  inline: boolean
}

export function encodeJob(job: JobToEncode): Uint8Array {
  const overhead = jobOverhead(job.callerId, job.header)
  const message = Buffer.allocUnsafe(overhead + (job.inline ? job.body.length : 0))
  message[0] = VERSION
  message[1] = job.callerId.length
  let at = 2 + message.write(job.callerId, 2, 'latin1')
  at = message.writeUInt32LE(job.stream, at)
  at = message.writeUInt32LE(job.partBytes, at)
  at = message.writeUInt32LE(job.body.length, at)
  at = message.writeUInt32LE(job.header.length, at)
  message.set(job.header, at)
  if (job.inline) message.set(job.body, overhead)
  return message
}

/** Throws a RangeError on anything that {@link encodeJob} did not write. The parts are views of the message. */
export function decodeJob(message: Uint8Array): JobMessage {
  const buffer = Buffer.from(message.buffer, message.byteOffset, message.byteLength)
  if (buffer[0] !== VERSION) throw new RangeError(`job message of unknown version ${buffer[0]}`)
  let at = 2 + buffer.readUInt8(1)
  const callerId = buffer.toString('latin1', 2, at)
  const stream = buffer.readUInt32LE(at)
  const partBytes = buffer.readUInt32LE(at + 4)
  const bodyBytes = buffer.readUInt32LE(at + 8)
  const headerBytes = buffer.readUInt32LE(at + 12)
  at += 16
  const bodyAt = at + headerBytes
  const inline = bodyAt + bodyBytes === buffer.length
  if (!inline && (bodyAt !== buffer.length || partBytes === 0)) throw new RangeError('job message of the wrong length')
  return {
    callerId,
    stream,
    header: buffer.subarray(at, bodyAt),
    bodyBytes,
    partBytes,
    inlineBody: inline ? buffer.subarray(bodyAt) : null,
  }
}

export function encodeOffer(subject: string, job: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.of(subject.length), Buffer.from(subject, 'latin1'), job])
}

/** Throws a RangeError where the offer ends inside its subject. */
export function decodeOffer(offer: Uint8Array): { subject: string; job: Uint8Array } {
  const past = 1 + (offer[0] ?? 0)
  if (past > offer.length) throw new RangeError('offer ends inside its subject')
  return { subject: Buffer.from(offer.subarray(1, past)).toString('latin1'), job: offer.subarray(past) }
}
