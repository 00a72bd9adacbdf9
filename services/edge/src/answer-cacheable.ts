/**
 * Answers a public body that changes with the configuration only: clients and proxies may keep it for a short while and
 * then ask whether it is still the same (`ETag` of its bytes; if so, 304 without a body).
 */

import { createHash } from 'node:crypto'
import type { Response } from 'express'

/** A changed configuration is seen everywhere after this long. */
const MAX_AGE_S = 30

export function answerCacheable(response: Response, body: object, headers: Record<string, string> = {}): void {
  const text = JSON.stringify(body)
  const etag = `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`
  response
    .set({ ...headers, etag, 'cache-control': `public, max-age=${MAX_AGE_S}` })
    .type('json')
    .send(text)
}
