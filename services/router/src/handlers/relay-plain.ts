/**
 * Takes a whole JSON response, judges it, and sends it on: nothing of it goes out before all of it holds.
 */

import { DEFAULT_DIMENSIONS } from '@gateway/contracts/config'
import { objectsOf } from '@gateway/contracts/json'
import type { TokenUsage } from '@gateway/contracts/usage'
import { LARGEST_RESPONSE_BYTES } from '../response-memory.ts'
import { inlineImages, type Reserve } from '../clients/images.ts'
import { countsOneChoice, generatedText } from '../core/chat-chunk.ts'
import { checkEmbeddings, imageSources, withoutByteOrderMark } from '../core/plain-response.ts'
import type { Dialect, PlainResponse } from '../dialects/dialect.ts'
import { routeOf, type Target } from '../backend-registry.ts'
import type { RouterContext } from '../router-context.ts'
import type { TokenCounter } from '../tokens/count-tokens.ts'
import {
  endWaiting,
  estimatedUsage,
  identityOf,
  remainingMs,
  sendHead,
  reporting,
  withCalls,
  withSound,
  type BoundJob,
  type Call,
  type JobContext,
} from '../job-context.ts'

/** Responses travel in pieces, so that a slow client holds back megabytes of images. */
const PIECE_BYTES = 256 * 1024

export async function relayPlain(
  run: BoundJob,
  call: Call,
  { tokens, responseMemory }: Pick<RouterContext, 'tokens' | 'responseMemory'>,
  onContent: () => void,
): Promise<TokenUsage> {
  const { target, exchange } = call
  using held = responseMemory.open()
  const waitLimit = () => ({ withinMs: remainingMs(run), signal: run.job.signal })
  const reserve = (bytes: number) => held.add(bytes, waitLimit)
  const received = withoutByteOrderMark(await exchange.readAll(LARGEST_RESPONSE_BYTES, reserve))
  endWaiting(run, call)
  const { dialect } = routeOf(target, run.header)
  const read = dialect.readBackendResponse(run.header.kind, received, identityOf(run, target), call.echo)
  const known = usageReported(run, read, dialect)
  if (known) call.usage = reporting(withImages(withSound(known, run), run, read))
  const response = await fulfil(run, target, read, reserve)
  const reported = usageReported(run, response, dialect)
  const usage = reported
    ? await ofAllChoices(reported, response, tokens)
    : withCalls(estimatedUsage(run, response.usage, await completionTokens(run, response, dialect, tokens)), response)
  const bytes = usage.estimated ? dialect.withUsage(response, usage, run.header.kind) : response.bytes
  onContent()
  const billed = withImages(withSound(usage, run), run, response)
  sendHead(run, call, 'application/json', reporting(billed))
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) await run.job.data(bytes.subarray(at, at + PIECE_BYTES))
  return billed
}

/** Adds the parts that the contract demands beyond the backend's own JSON. */
async function fulfil(
  run: BoundJob,
  target: Target,
  response: PlainResponse,
  reserve: Reserve,
): Promise<PlainResponse> {
  const changed = await changedForm(run, target, response, reserve)
  return changed ? { ...response, json: changed, bytes: Buffer.from(JSON.stringify(changed)) } : response
}

async function changedForm(
  run: BoundJob,
  target: Target,
  { json }: PlainResponse,
  reserve: Reserve,
): Promise<Record<string, unknown> | null> {
  switch (run.header.kind) {
    case 'chat':
      return null
    case 'embeddings':
      return checkEmbeddings(json, expectedVectors(run))
    case 'images':
      return inlineImages(json, {
        client: target.backend.client,
        budgetMs: () => remainingMs(run),
        signal: run.job.signal,
        reserve,
      })
  }
}

function expectedVectors({ inputs, header: { dimensions = DEFAULT_DIMENSIONS, encodingFormat = 'float' } }: BoundJob) {
  return { inputs, dimensions, encodingFormat }
}

/** The backend's own figures; those that count nothing of a prompt, a text or a picture are none. */
function usageReported(
  { header }: JobContext,
  { usage, json, hiddenText }: PlainResponse,
  dialect: Dialect,
): TokenUsage | null {
  if (usage === null || header.kind === 'embeddings') return usage && ofPromptAlone(usage)
  if (header.kind === 'chat' && usage.promptTokens === 0) return null
  if (usage.completionTokens > 0) return usage
  return header.kind === 'images' || (hiddenText ?? dialect.textOf(json)).trim() !== '' ? null : usage
}

/** Vectors have no tokens, and some vendors' rates have no price for such. */
function ofPromptAlone(usage: TokenUsage): TokenUsage {
  return {
    ...usage,
    promptTokens: usage.promptTokens + usage.completionTokens,
    completionTokens: 0,
    reasoningTokens: 0,
  }
}

/** The number of pictures beside their tokens. */
function withImages(usage: TokenUsage, { header }: JobContext, { json: { data } }: PlainResponse): TokenUsage {
  return header.kind === 'images' && Array.isArray(data) ? { ...usage, images: data.length } : usage
}

/** Where the backend has counted the first choice alone, the others have as many tokens for their length. */
async function ofAllChoices(reported: TokenUsage, { json }: PlainResponse, tokens: TokenCounter): Promise<TokenUsage> {
  const choices = objectsOf(json.choices)
  if (choices.length < 2 || !countsOneChoice(json)) return reported
  const counts = await Promise.all(choices.map(({ message }) => tokens.count(generatedText(message))))
  const all = counts.reduce((sum, count) => sum + count, 0)
  const others = all - counts[0]!
  const scale = counts[0]! > 0 ? reported.completionTokens / counts[0]! : 1
  return { ...reported, completionTokens: reported.completionTokens + Math.round(others * scale), estimated: true }
}

/** The backend's own figure, or ours. */
async function completionTokens(
  { header, body }: BoundJob,
  { usage, json, hiddenText }: PlainResponse,
  dialect: Dialect,
  tokens: TokenCounter,
): Promise<number> {
  if (usage !== null && usage.completionTokens > 0) return usage.completionTokens
  switch (header.kind) {
    case 'chat':
      return tokens.count(hiddenText ?? dialect.textOf(json))
    case 'embeddings':
      return 0
    case 'images':
      return tokensOfPictures(header.reservedOutputTokens ?? 0, body, json)
  }
}

/** Some servers return fewer pictures than were requested. */
function tokensOfPictures(reservedTokens: number, body: Uint8Array, { data }: PlainResponse['json']): number {
  const { n: requested } = JSON.parse(Buffer.from(body).toString()) as { n?: number }
  const received = imageSources({ data }).length
  return Math.round(reservedTokens * Math.min(1, received / (requested ?? 1)))
}
