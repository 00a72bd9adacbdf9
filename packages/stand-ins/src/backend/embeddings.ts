/**
 * Embeddings: deterministic unit vectors in which texts that share words are near each other.
 */

import { endianness } from 'node:os'
import { isCount, isString, type JsonObject, optional, Refusal, required } from './refusal.ts'
import { hashOf, randomFrom, remember } from './seeded.ts'
import { countTokens } from './tokens.ts'

const DIMENSIONS = 768
const PLACES_PER_WORD = 24
const NOISE = 0.05
const MAX_INPUTS = 2048

export interface EmbeddingsUsage {
  prompt_tokens: number
  total_tokens: number
}

type Input = string | number[]

export function buildEmbeddingsResponse(
  body: JsonObject,
  shape: { dimensions?: number | undefined; usage: boolean },
): { json: string; usage: EmbeddingsUsage } {
  const model = required(body, 'model', 'a string', isString)
  const inputs = readInputs(body['input'])
  const format = optional(body, 'encoding_format', 'a string', isString) ?? 'float'
  if (format !== 'float' && format !== 'base64')
    throw new Refusal("Invalid 'encoding_format'.", { param: 'encoding_format' })
  const dimensions = shape.dimensions ?? optional(body, 'dimensions', 'an integer', isCount) ?? DIMENSIONS
  const data = inputs.map((input, index) => {
    const embedding = embed(`${format === 'base64' ? 'b' : 'f'}${dimensions}:${textOf(input)}`)
    return `{"object":"embedding","index":${index},"embedding":${embedding}}`
  })
  const tokens = inputs.reduce((total, input) => total + (isString(input) ? countTokens(input) : input.length), 0)
  const usage = { prompt_tokens: tokens, total_tokens: tokens }
  const tail = shape.usage ? `,"usage":${JSON.stringify(usage)}` : ''
  return { json: `{"object":"list","data":[${data.join(',')}],"model":${JSON.stringify(model)}${tail}}`, usage }
}

function readInputs(input: unknown): Input[] {
  const isTokens = (value: unknown): value is number[] =>
    Array.isArray(value) && value.length > 0 && value.every(Number.isInteger)
  const inputs: unknown[] = isString(input) || isTokens(input) ? [input] : Array.isArray(input) ? input : []
  if (inputs.length === 0 || inputs.length > MAX_INPUTS) throw new Refusal("Invalid 'input'.", { param: 'input' })
  return inputs.map((item, index) => {
    if ((isString(item) && item !== '') || isTokens(item)) return item
    throw new Refusal(`Invalid 'input[${index}]'.`, { param: `input[${index}]` })
  })
}

function textOf(input: Input): string {
  return isString(input) ? input : input.join(' ')
}

/** The vector as JSON text; the key says the format and the dimensions. */
const embed = remember(512, (key: string) => {
  const dimensions = Number(key.slice(1, key.indexOf(':')))
  const vector = unitVector(key.slice(key.indexOf(':') + 1), dimensions)
  if (key.startsWith('f')) return `[${Array.from(vector, (value) => Math.round(value * 1e6) / 1e6).join(',')}]`
  const bytes = Buffer.from(vector.buffer)
  return `"${(endianness() === 'BE' ? bytes.swap32() : bytes).toString('base64')}"`
})

function unitVector(text: string, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions)
  const random = randomFrom(text)
  for (let i = 0; i < dimensions; i++) vector[i] = (random() - 0.5) * NOISE
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) addWord(vector, word)
  const length = Math.hypot(...vector)
  return vector.map((value) => Math.round((value / length) * 1e6) / 1e6)
}

function addWord(vector: Float32Array, word: string): void {
  const random = randomFrom(word)
  const sign = hashOf(word) & 1 ? 1 : -1
  for (let i = 0; i < PLACES_PER_WORD; i++) {
    const place = Math.floor(random() * vector.length)
    vector[place] = vector[place]! + (random() < 0.5 ? sign : -sign)
  }
}
