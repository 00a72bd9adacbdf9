/**
 * A backend that does all well, and the requests for it: one entry for each API of a client.
 */

import type { JobHeader } from '@gateway/contracts/job'
import { completion, goodChat, sendJson, type SeenRequest } from './http-backend.ts'
import type { ServerResponse } from 'node:http'

export type RequestKind = 'stream' | 'plain' | 'embeddings' | 'images'

interface GoodRequest {
  header: Partial<JobHeader>
  body: object
  good(response: ServerResponse, request: SeenRequest): void
}

export const PNG = Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), Buffer.from('pixels')])

const CHAT = { messages: [{ role: 'user', content: 'Say hello' }] }
const good = (requestKind: RequestKind) => (response: ServerResponse) =>
  sendJson(response, 200, goodResponse(requestKind))

const GOOD_REQUESTS: Record<RequestKind, GoodRequest> = {
  stream: { header: { stream: true }, body: CHAT, good: (response, request) => goodChat(response, request, null!) },
  plain: { header: {}, body: CHAT, good: good('plain') },
  embeddings: {
    header: { kind: 'embeddings', needs: ['embeddings'] },
    body: { input: 'x' },
    good: good('embeddings'),
  },
  images: { header: { kind: 'images', needs: ['images'] }, body: { prompt: 'a cat' }, good: good('images') },
}

export function requestOf(requestKind: RequestKind): GoodRequest {
  return GOOD_REQUESTS[requestKind]
}

/** A complete JSON response. */
export function goodResponse(requestKind: RequestKind): object {
  switch (requestKind) {
    case 'embeddings':
      return {
        object: 'list',
        model: 'e',
        data: [{ object: 'embedding', index: 0, embedding: Array.from({ length: 768 }, (_, i) => i / 1024) }],
        usage: { prompt_tokens: 4, total_tokens: 4 },
      }
    case 'images':
      return {
        created: 1,
        data: [{ b64_json: PNG.toString('base64') }],
        usage: { input_tokens: 2, output_tokens: 5, total_tokens: 7 },
      }
    default:
      return completion()
  }
}
