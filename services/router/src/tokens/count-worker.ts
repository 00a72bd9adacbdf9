/**
 * The worker thread of `count-tokens.ts`. It counts long texts in slices, since the tokenizer takes quadratic time on a
 * long run without a space. An estimate does not suffer from a cut.
 */

import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { parentPort } from 'node:worker_threads'

const SLICE_CHARACTERS = 2_000
/** Text that looks like a special token is still only text. */
const AS_TEXT = { disallowedSpecial: new Set<string>() }

export type WorkerRequest = { id: number; text: string } | { id: number; inputs: number[][] }
export type WorkerReply = { id: number; tokens: number } | { id: number; texts: string[] }

function count(text: string): number {
  let tokens = 0
  for (let at = 0; at < text.length; at += SLICE_CHARACTERS) {
    tokens += countTokens(text.slice(at, at + SLICE_CHARACTERS), AS_TEXT)
  }
  return tokens
}

/** By the tokenizer of OpenAI's embedding models. Few gateways ever need its tables. */
async function read(inputs: number[][]): Promise<string[]> {
  const { decode } = await import('gpt-tokenizer/encoding/cl100k_base')
  return inputs.map((tokens) => decode(tokens))
}

async function respond(request: WorkerRequest): Promise<WorkerReply> {
  const { id } = request
  return 'text' in request ? { id, tokens: count(request.text) } : { id, texts: await read(request.inputs) }
}

parentPort?.on('message', (request: WorkerRequest) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread has no origin
  void respond(request).then((reported) => parentPort!.postMessage(reported))
})
