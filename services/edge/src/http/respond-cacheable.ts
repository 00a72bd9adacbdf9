/**
 * Sends a public body that changes with the configuration only. Clients and proxies may keep it for a short while. Then they
 * check whether it is still the same (`ETag` of its bytes; if so, 304 without a body).
 */

import { createHash } from 'node:crypto'
import type { Request, Response } from 'express'

/** A changed configuration is seen everywhere after this long. */
const MAX_AGE_S = 30

export function respondCacheable(response: Response, body: object, headers: Record<string, string> = {}): void {
  const text = JSON.stringify(body)
  const etag = etagOf(text)
  response
    .status(isHeld(response.req, etag) ? 304 : 200)
    .set({ ...headers, etag, 'cache-control': `public, max-age=${MAX_AGE_S}` })
    .type('json')
    .send(text)
}

export function etagOf(body: string | Buffer): string {
  return `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
}

/**
 * True where the client holds this very body. `Cache-Control: no-cache` does not count: it demands validation, and this is
 * it.
 */
export function isHeld(request: Request, etag: string): boolean {
  const held =
    request
      .get('if-none-match')
      ?.split(',')
      .map((tag) => tag.trim().replace(/^W\//, '')) ?? []
  return held.includes(etag) || held.includes('*')
}
