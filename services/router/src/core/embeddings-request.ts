/**
 * An embeddings request: its number of vectors, and their inputs. The router always requests floats of backends, since not all
 * know base64 and a vector must be read to be judged. They get texts where a client sends the tokens of texts, since each
 * model has a tokenizer of its own.
 */

import type { JobHeader } from '@gateway/contracts/job'

export interface EmbeddingsRequest {
  inputs: number
  /** Null where the input is text already. */
  tokens: number[][] | null
  /** The client's options without the form of the response. */
  body: Buffer
}

export function readEmbeddingsRequest(body: Buffer): EmbeddingsRequest {
  const requested = JSON.parse(body.toString('utf8')) as Record<string, unknown>
  const { encoding_format: format, dimensions, ...rest } = requested
  const tokens = tokensOf(rest.input)
  const inputs = tokens?.length ?? (Array.isArray(rest.input) ? rest.input.length : 1)
  const isAsItCame = format === undefined && dimensions === undefined
  return { inputs, tokens, body: isAsItCame ? body : Buffer.from(JSON.stringify(rest)) }
}

/** The same request, with the texts that the tokens stand for. */
export function withTexts(body: Buffer, texts: readonly string[]): Buffer {
  return Buffer.from(JSON.stringify({ ...(JSON.parse(body.toString('utf8')) as object), input: texts }))
}

function tokensOf(input: unknown): number[][] | null {
  if (!Array.isArray(input)) return null
  if (typeof input[0] === 'number') return [input as number[]]
  return Array.isArray(input[0]) ? (input as number[][]) : null
}

/**
 * Models whose vectors have more than one length, and longer ones unless the request names another. Their address does
 * not matter.
 *
 * OpenAI's text-embedding-3 (the types of `openai` 7.55, 2026), gemini-embedding-001
 * (ai.google.dev/gemini-api/docs/embeddings, November 2026), Cohere's embed-v4 (docs.cohere.com/docs/cohere-embed,
 * November 2026).
 */
const OF_MANY_LENGTHS = /text-embedding-3|gemini-embedding|embed-v-?4/i

/** The length to request of the target: none where the client wants the model's only one. */
export function dimensionsToRequest(
  model: string,
  { dimensions, isShortened = false }: Pick<JobHeader, 'dimensions' | 'isShortened'>,
): number | undefined {
  return isShortened || OF_MANY_LENGTHS.test(model) ? dimensions : undefined
}
