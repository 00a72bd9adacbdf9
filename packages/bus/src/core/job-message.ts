/**
 * The message that offers a job to a group of workers, and, behind its subject, the frame that offers it to one.
 *
 *     version u8 · caller length u8 · caller (latin1) · stream u32 · part size u32 · body size u32 ·
 *     header length u32 · header · body, if it travels inline
 *
 *     offer = subject length u8 · subject (latin1) · message
 *
 * A body that is not inline is pulled by the worker, in parts of `part size`.
 */

export interface JobMessage {
  callerId: string
  stream: number
  header: Uint8Array
  bodyBytes: number
  partBytes: number
  /** Null when the worker has to pull it. */
  inlineBody: Uint8Array | null
}

const VERSION = 1
const FIXED_BYTES = 18

/** How many bytes the message takes without its body. */
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
