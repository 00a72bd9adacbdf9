/**
 * The body of a planned request, and the only right response to it.
 */

import type { ClientDialect } from '@gateway/contracts/vendors'
import { CLIENTS } from '@gateway/testing/client-fixtures'
import type { PlannedRequest } from '../plan/requests.ts'

export interface Question {
  path: string
  way: ClientDialect
  body: object
  isStream: boolean
  /** The expected text of a chat; null for embeddings. */
  expected: string | null
}

/** One token each, for the backend and for the gateway's tokenizer alike. */
const WORDS =
  'time day way man thing world life hand part child eye place work week case point home room area money'.split(' ')

/** Above the need of the response, and not by much: an allowance is passed by less than this. */
export const capFor = (words: number): number => 2 * words + 40

export function questionOf(
  request: Pick<PlannedRequest, 'id' | 'kind' | 'way' | 'model' | 'words' | 'includeUsage' | 'chosen' | 'leavesAt'>,
): Question {
  const { id, kind, way, model, words } = request
  if (kind === 'embeddings') {
    const texts = Array.from({ length: 1 + (words % 3) }, (_, index) => `${id} text ${index}`)
    const input = texts.length === 1 ? texts[0] : texts
    return { path: '/v1/embeddings', way, body: { model, input }, isStream: false, expected: null }
  }
  const expected = [id, ...Array.from({ length: words }, (_, index) => WORDS[(index + 7 * words) % WORDS.length])].join(
    ' ',
  )
  const mayBePlain = kind === 'repeating' || (kind === 'leaver' && request.leavesAt === 'waiting')
  const isPlain = kind === 'plain' || kind === 'sdk-plain' || (mayBePlain && request.chosen % 2 === 1)
  const isStream = !isPlain
  const client = CLIENTS[way]
  const body = {
    model,
    ...client.body(`Say: ${expected}`, capFor(words)),
    ...(isStream && { stream: true }),
    ...(isStream && way === 'chat' && request.includeUsage && { stream_options: { include_usage: true } }),
  }
  return { path: client.path, way, body, isStream, expected }
}

/** The request that a backend got. */
export function requestIn(body: unknown): string | null {
  return /\b[rp]\d+\b/.exec(JSON.stringify(body))?.[0] ?? null
}
