/**
 * Decides which clients read an error only where it is an object (`error.message`). Such a client shows nothing, or a fault
 * of its own, where `error` is a sentence. The edge recognizes a client by the headers that the client sends.
 */

import type { IncomingHttpHeaders } from 'node:http'
import type { ErrorShape } from '@gateway/contracts/config'

/** The SDKs of OpenAI and Anthropic name their language in it. */
const SDK_LANGUAGE = 'x-stainless-lang'

/** Products of user agents, in small letters, as the clients sent them or their documents name them on 2026-11-28. */
const NESTED_READERS: ReadonlySet<string> = new Set([
  'ai',
  'ai-sdk',
  'ai-sdk-provider-utils',
  'litellm',
  'openai',
  'async-openai',
])

/** The products of `ai/6.0.326 ai-sdk/provider-utils/4.0.65 runtime/node.js/v24` are `ai`, `ai-sdk` and `runtime`. */
function productsOf(userAgent: string): string[] {
  return userAgent
    .slice(0, LONGEST_AGENT)
    .split(' ')
    .map((product) => product.split('/', 1)[0]!.toLowerCase())
}

const LONGEST_AGENT = 500

/** OpenAI's Administration API, and ours beside it. Their clients know no flat errors. */
const ADMINISTRATION = /^\/(v1\/(organization|projects)|admin\/v1)(\/|$)/

/** `target`: the request's, with its query. */
export function isAdministration(target = ''): boolean {
  return ADMINISTRATION.test(target.split('?', 1)[0]!)
}

/** True where a client of chat gets the contract's flat codes nested. */
export function readsNested(headers: IncomingHttpHeaders, shape: ErrorShape = 'auto'): boolean {
  if (shape !== 'auto') return shape === 'openai'
  if (headers[SDK_LANGUAGE] !== undefined) return true
  const userAgent = headers['user-agent']
  return userAgent !== undefined && productsOf(userAgent).some((product) => NESTED_READERS.has(product))
}
