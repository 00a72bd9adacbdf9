/**
 * The body of a planned request, and the only right response to it.
 */

import type { ClientDialect } from '@gateway/contracts/vendors'
import { CLIENTS } from '@gateway/testing/client-fixtures'
import type { PlannedRequest } from '../plan/requests.ts'
import type { Seen } from './seen.ts'

export interface Question {
  path: string
  way: ClientDialect
  body: object
  isStream: boolean
  /** The expected text of a chat; null for embeddings. */
  expected: string | null
  /** Called with a whole plain response. */
  onReply?: (reply: unknown) => void
  /** Notes a plain response that is no text. */
  noteReply?: (seen: Seen, reply: unknown) => void
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
  const expected = textFor(id, words)
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

export function textFor(id: string, words: number): string {
  return [id, ...Array.from({ length: words }, (_, index) => WORDS[(index + 7 * words) % WORDS.length])].join(' ')
}

/** The requests that a backend got, with the earlier ones of its conversation. The last one is its own. */
export function requestsIn(body: unknown): string[] {
  return [...JSON.stringify(body).matchAll(/\b[rp]\d+(?:\.\d)?\b/g)].map(([id]) => id)
}
