/**
 * Takes a whole JSON answer, judges it, and sends it on: nothing of it goes out before all of it holds.
 */

import type { TokenUsage } from '@gateway/contracts/usage'
import type { Exchange } from '../clients/exchange.ts'
import { inlineImages } from '../clients/images.ts'
import { checkEmbeddings, generatedTextOf, withUsage } from '../core/plain-answer.ts'
import type { PlainAnswer } from '../dialects/dialect.ts'
import type { Target } from '../fleet.ts'
import type { TokenCounter } from '../tokens/count-tokens.ts'
import { endWaiting, remainingMs, show, type Run } from './run.ts'

const LARGEST_ANSWER_BYTES = 128 * 1024 * 1024
/** Answers travel in pieces, so that a slow client holds back megabytes of images. */
const PIECE_BYTES = 256 * 1024

export async function relayPlain(
  run: Run,
  target: Target,
  exchange: Exchange,
  tokens: TokenCounter,
  onContent: () => void,
): Promise<TokenUsage> {
  const received = await exchange.readAll(LARGEST_ANSWER_BYTES)
  endWaiting(run)
  const answer = await settle(
    run,
    target,
    target.backend.dialect.readAnswer(run.header.kind, received, Math.floor(Date.now() / 1_000)),
  )
  const usage = answer.usage ?? (await estimate(run, answer, tokens))
  const bytes = answer.usage ? answer.bytes : withUsage(answer.bytes, answer.json, usage, run.header.kind)
  onContent()
  show(run, 'application/json', { target, usage: () => Promise.resolve(usage) })
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) await run.job.data(bytes.subarray(at, at + PIECE_BYTES))
  return usage
}

/** What the contract asks beyond the backend's own JSON. */
async function settle(run: Run, target: Target, answer: PlainAnswer): Promise<PlainAnswer> {
  const changed = await changedForm(run, target, answer)
  return changed ? { ...answer, json: changed, bytes: Buffer.from(JSON.stringify(changed)) } : answer
}

async function changedForm(run: Run, target: Target, { json }: PlainAnswer): Promise<Record<string, unknown> | null> {
  switch (run.header.kind) {
    case 'chat':
      return null
    case 'embeddings':
      return checkEmbeddings(json, { inputs: run.inputs, encodingFormat: run.header.encodingFormat ?? 'float' })
    case 'images':
      return inlineImages(json, target.backend.client, remainingMs(run), run.job.signal)
  }
}

async function estimate(run: Run, answer: PlainAnswer, tokens: TokenCounter): Promise<TokenUsage> {
  return {
    promptTokens: run.header.promptTokensEstimate,
    completionTokens: run.header.kind === 'chat' ? await tokens.count(generatedTextOf(answer.json)) : 0,
    cachedTokens: 0,
    reasoningTokens: 0,
    estimated: true,
  }
}
