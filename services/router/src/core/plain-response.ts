/**
 * Judges a backend's whole JSON response before a byte of it goes out. A wrong response is the backend's fault, such as
 * an HTML page under a 200, a truncated body or a vector of the wrong length.
 *
 * The backend's bytes stay as they are unless the contract demands another form. It may demand base64 vectors, vectors
 * in the order of the inputs, images inline, or a usage block where the backend left it out.
 */

import { type JsonObject, isObject, parseExactly } from '@gateway/contracts/json'
import type { JobKind } from '@gateway/contracts/job'
import type { TokenUsage } from '@gateway/contracts/usage'
import { BackendFault } from './backend-fault.ts'
import { errorIn, generatedText, writeUsage } from './chat-chunk.ts'
import type { FinishReasons } from './finish-reasons.ts'

const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

export function parseResponseBody(bytes: Buffer, reasons?: FinishReasons): JsonObject {
  const value = parseObject(bytes)
  const fault = errorIn(value, reasons)
  if (fault) throw fault
  return value
}

const BYTE_ORDER_MARK = Buffer.from('\uFEFF')

/** JSON has no byte order mark (RFC 8259). Some servers write one, and not all clients can read it. */
export function withoutByteOrderMark(bytes: Buffer): Buffer {
  const { length } = BYTE_ORDER_MARK
  return bytes.subarray(0, length).equals(BYTE_ORDER_MARK) ? bytes.subarray(length) : bytes
}

/** Parses the response of a backend of any API. Throws a `BackendFault` where it is no JSON object. */
export function parseObject(bytes: Buffer, parse: (text: string) => unknown = JSON.parse): JsonObject {
  let value: unknown
  try {
    value = parse(bytes.toString('utf8'))
  } catch (cause) {
    throw new BackendFault('invalid_answer', 'the answer is not JSON', { cause })
  }
  if (!isObject(value)) throw invalid('the answer is not a JSON object')
  return value
}

export function checkChatResponse(response: JsonObject): void {
  const { choices } = response
  if (!Array.isArray(choices) || choices.length === 0) throw invalid('the answer has no choices')
  for (const choice of choices) {
    if (!isObject(choice) || !isObject(choice.message)) throw invalid('a choice has no message')
  }
}

/** All that was generated, for counting tokens where the backend did not. */
export function generatedTextOf(response: JsonObject): string {
  const choices = Array.isArray(response.choices) ? response.choices : []
  return choices.map((choice) => generatedText(isObject(choice) ? choice.message : null)).join('\n')
}

export interface ExpectedVectors {
  inputs: number
  dimensions: number
  encodingFormat: 'float' | 'base64'
}

/**
 * Checks that each input has one vector of the requested length. Returns null when the response may travel as it came.
 * Otherwise it returns the corrected form: in the order of the inputs, in the encoding that the client requested.
 */
export function checkEmbeddings(response: JsonObject, expected: ExpectedVectors): JsonObject | null {
  const { data } = response
  if (!Array.isArray(data)) throw invalid('the answer has no data')
  if (data.length !== expected.inputs) throw invalid(`${data.length} vectors for ${expected.inputs} inputs`)
  const ordered: JsonObject[] = []
  let changed = false
  data.forEach((entry: unknown, position) => {
    if (!isObject(entry)) throw invalid('an entry of data is not an object')
    const index = entry.index === undefined ? position : entry.index
    if (!isPosition(index, data.length) || ordered[index]) throw invalid('the vectors do not match the inputs')
    const embedding = encodeVector(entry.embedding, expected)
    if (index !== position || entry.index === undefined || embedding !== entry.embedding) changed = true
    ordered[index] = { ...entry, index, embedding }
  })
  return changed ? { ...response, data: ordered } : null
}

function isPosition(value: unknown, length: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < length
}

/** A vector in the requested form: the same value when it already has that form. */
function encodeVector(value: unknown, { dimensions, encodingFormat: format }: ExpectedVectors): unknown {
  if (typeof value === 'string') {
    const bytes = Buffer.from(value, 'base64')
    if (bytes.length !== dimensions * 4) throw wrongDimension(bytes.length / 4, dimensions)
    return format === 'base64' ? value : decodeFloats(bytes)
  }
  if (!Array.isArray(value)) throw invalid('an entry of data has no embedding')
  if (value.length !== dimensions) throw wrongDimension(value.length, dimensions)
  for (const number of value)
    if (typeof number !== 'number') throw invalid('a vector holds something else than numbers')
  return format === 'float' ? value : encodeFloats(value as number[])
}

function encodeFloats(vector: number[]): string {
  const bytes = Buffer.allocUnsafe(vector.length * 4)
  for (let i = 0; i < vector.length; i++) bytes.writeFloatLE(vector[i]!, i * 4)
  return bytes.toString('base64')
}

function decodeFloats(bytes: Buffer): number[] {
  return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(i * 4))
}

/** Either the image itself, or where the backend says that it is. */
export type ImageSource = { base64: string } | { url: string }

export function imageSources(response: JsonObject): ImageSource[] {
  const { data } = response
  if (!Array.isArray(data) || data.length === 0) throw invalid('the answer has no images')
  return data.map((entry: unknown): ImageSource => {
    if (isObject(entry) && typeof entry.b64_json === 'string') return { base64: entry.b64_json }
    if (isObject(entry) && typeof entry.url === 'string') return { url: entry.url }
    throw invalid('an entry of data has neither b64_json nor url')
  })
}

export function checkPng(image: Buffer): void {
  if (!image.subarray(0, PNG_SIGNATURE.length).equals(PNG_SIGNATURE)) throw invalid('an image is not a PNG')
}

/** Only the signature is decoded: an image is megabytes long. */
export function checkPngBase64(base64: string): void {
  checkPng(Buffer.from(base64.slice(0, 12), 'base64'))
}

/** The response with its images inline, where some came as addresses. */
export function withInlineImages(response: JsonObject, images: readonly string[]): JsonObject {
  const data = (response.data as JsonObject[]).map((entry, i) => {
    const { url: _, ...rest } = entry
    return { ...rest, b64_json: images[i] }
  })
  return { ...response, data }
}

/** The bytes of a response that lacks its usage, with one: written in front of the closing brace, not re-serialised. */
export function withUsage(bytes: Buffer, response: JsonObject, usage: TokenUsage, kind: JobKind): Buffer {
  const block = writeUsage(usage, kind)
  if ('usage' in response) {
    // Vectors are doubles by contract, and too many to keep the text of each.
    const exact = kind === 'chat' ? parseObject(bytes, parseExactly) : response
    return Buffer.from(JSON.stringify({ ...exact, usage: block }))
  }
  const end = bytes.lastIndexOf('}')
  return Buffer.concat([bytes.subarray(0, end), Buffer.from(`,"usage":${JSON.stringify(block)}`), bytes.subarray(end)])
}

export function invalid(message: string): BackendFault {
  return new BackendFault('invalid_answer', message)
}

function wrongDimension(found: number, expected: number): BackendFault {
  return invalid(`a vector has ${found} dimensions instead of ${expected}`)
}
