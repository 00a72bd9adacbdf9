/**
 * `GET /openapi.json`, and `/docs`: the same reference as a page to read. Both are made once, at start, and loaded from
 * nowhere else.
 */

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { RequestHandler } from 'express'
import { openApiDocument } from '@gateway/contracts/openapi'
import { answerCacheable } from '../answer-cacheable.ts'
import type { EdgeSettings } from '../config.ts'
import { referencePage } from '../reference/reference-page.ts'

const STYLES = readFileSync(new URL('../reference/reference.css', import.meta.url))
export const STYLESHEET = `/docs/${createHash('sha256').update(STYLES).digest('hex').slice(0, 12)}.css`

const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-cache',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

export function showOpenApi({ publicBaseUrl }: EdgeSettings): RequestHandler {
  const document = openApiDocument(publicBaseUrl)
  return (_request, response) => answerCacheable(response, document)
}

export function showReference({ publicBaseUrl, console }: EdgeSettings): RequestHandler {
  const page = referencePage({ baseUrl: publicBaseUrl, consoleUrl: console?.url ?? null, stylesheet: STYLESHEET })
  return (_request, response) => {
    response.set(PAGE_HEADERS).send(page)
  }
}

export const showReferenceStyles: RequestHandler = (_request, response) => {
  response
    .set({ 'content-type': 'text/css; charset=utf-8', 'cache-control': 'public, max-age=31536000, immutable' })
    .send(STYLES)
}
