/**
 * The worker thread of `count-tokens.ts`. Long texts are counted in slices: the tokenizer takes quadratic time on a
 * long run without a space, and an estimate does not suffer from a cut.
 */

import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { parentPort } from 'node:worker_threads'

const SLICE_CHARACTERS = 2_000
/** Text that looks like a special token is still only text. */
const AS_TEXT = { disallowedSpecial: new Set<string>() }

parentPort?.on('message', ({ id, text }: { id: number; text: string }) => {
  let tokens = 0
  for (let at = 0; at < text.length; at += SLICE_CHARACTERS) {
    tokens += countTokens(text.slice(at, at + SLICE_CHARACTERS), AS_TEXT)
  }
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread has no origin
  parentPort?.postMessage({ id, tokens })
})
