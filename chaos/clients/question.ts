/**
 * The body of a planned request, and the only right answer to it.
 */

import type { PlannedRequest } from '../plan/requests.ts'

export interface Question {
  path: string
  body: object
  isStream: boolean
  /** Of a chat; null for embeddings. */
  answer: string | null
}

/** One token each, for the backend and for the gateway's tokenizer alike. */
const WORDS =
  'time day way man thing world life hand part child eye place work week case point home room area money'.split(' ')

/** Above what the answer takes, and not by much: an allowance is passed by less than this. */
export const capFor = (words: number): number => 2 * words + 40

export function questionOf(
  request: Pick<PlannedRequest, 'id' | 'kind' | 'model' | 'words' | 'includeUsage' | 'chosen' | 'leavesAt'>,
): Question {
  const { id, kind, model, words } = request
  if (kind === 'embeddings') {
    const texts = Array.from({ length: 1 + (words % 3) }, (_, index) => `${id} text ${index}`)
    const input = texts.length === 1 ? texts[0] : texts
    return { path: '/v1/embeddings', body: { model, input }, isStream: false, answer: null }
  }
  const answer = [id, ...Array.from({ length: words }, (_, index) => WORDS[(index + 7 * words) % WORDS.length])].join(
    ' ',
  )
  const mayBePlain = kind === 'repeating' || (kind === 'leaver' && request.leavesAt === 'waiting')
  const isPlain = kind === 'plain' || kind === 'sdk-plain' || (mayBePlain && request.chosen % 2 === 1)
  const isStream = !isPlain
  const body = {
    model,
    messages: [{ role: 'user', content: `Say: ${answer}` }],
    max_tokens: capFor(words),
    ...(isStream && { stream: true }),
    ...(isStream && request.includeUsage && { stream_options: { include_usage: true } }),
  }
  return { path: '/v1/chat/completions', body, isStream, answer }
}

/** Which request a backend was asked for. */
export function requestIn(body: unknown): string | null {
  return /\b[rp]\d+\b/.exec(JSON.stringify(body))?.[0] ?? null
}
