/**
 * `GET /openapi.json`, and `/docs`: the same reference as a page to read. Both are made once, at start, and loaded from
 * nowhere else.
 */

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { respondCacheable } from '../http/respond-cacheable.ts'
import type { EdgeSettings } from '../config.ts'
import type { Operation } from './api-reference.ts'
import { openApiDocument } from './openapi.ts'
import { referencePage } from './reference-page.ts'
import type { Handler } from '../http/handler.ts'

const STYLES = readFileSync(new URL('./reference.css', import.meta.url))
export const STYLESHEET = `/docs/${createHash('sha256').update(STYLES).digest('hex').slice(0, 12)}.css`

const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-cache',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

export function showOpenApi({ publicBaseUrl }: EdgeSettings, operations: Operation[]): Handler<'none'> {
  const document = openApiDocument(publicBaseUrl, operations)
  return (_request, response) => respondCacheable(response, document)
}

export function showReference({ publicBaseUrl, console }: EdgeSettings, operations: Operation[]): Handler<'none'> {
  const addresses = { baseUrl: publicBaseUrl, consoleUrl: console?.url ?? null, stylesheet: STYLESHEET }
  const page = referencePage(addresses, operations)
  return (_request, response) => {
    response.set(PAGE_HEADERS).send(page)
  }
}

export const showReferenceStyles: Handler<'none'> = (_request, response) => {
  response
    .set({ 'content-type': 'text/css; charset=utf-8', 'cache-control': 'public, max-age=31536000, immutable' })
    .send(STYLES)
}
