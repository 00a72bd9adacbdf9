/**
 * The headers that tell a client of a model's end: `Deprecation` (RFC 9745), `Sunset` (RFC 8594), and a link to what
 * replaces it.
 */

import type { ModelConfig } from '@gateway/contracts/config'

export function noticeHeaders({ deprecatedAt, sunsetAt, replacement }: ModelConfig): Record<string, string> {
  const headers: Record<string, string> = {}
  if (deprecatedAt) headers['deprecation'] = `@${Date.parse(deprecatedAt) / 1000}`
  if (sunsetAt) headers['sunset'] = new Date(sunsetAt).toUTCString()
  if (deprecatedAt && replacement) {
    headers['link'] = `</v1/models/${encodeURIComponent(replacement)}>; rel="successor-version"`
  }
  return headers
}
