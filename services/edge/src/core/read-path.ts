/**
 * Reads a path alone: the dialect of its responses, and the path that a client with a wrong base URL meant. Both are known
 * before anything else is read: also for a method that the path does not take, and for an unknown caller.
 */

import type { IncomingHttpHeaders } from 'node:http'
import { CLIENT_DIALECTS } from '@gateway/contracts/client-dialects'
import { type ClientDialect, clientDialects } from '@gateway/contracts/vendors'

/** The target of a request to a proxy may begin with its host. */
const ORIGIN = /^https?:\/\/[^/?]*/i

/** Anthropic's clients send it with every request. */
export const ANTHROPIC_VERSION = 'anthropic-version'

/** Outside of conversations, a client of Anthropic's gets responses as Messages has them, and others as chat has them. */
export function dialectOf(target: string | undefined, headers: IncomingHttpHeaders): ClientDialect {
  return conversationOf(target) ?? (headers[ANTHROPIC_VERSION] === undefined ? 'chat' : 'messages')
}

/** The same for a client that nothing is known of. */
export function dialectOfPath(target: string | undefined): ClientDialect {
  return conversationOf(target) ?? 'chat'
}

/** `target`: the request's, with its query. */
function conversationOf(target = ''): ClientDialect | undefined {
  const [, version, resource] = target.replace(ORIGIN, '').split(/[/?]/, 3)
  return version === 'v1' ? clientDialects.find((dialect) => CLIENT_DIALECTS[dialect].resource === resource) : undefined
}

/** The words for a client that requested an unknown path. `known` are paths without parameters. */
export function hintFor(path: string, known: readonly string[]): string {
  const meant = nearestPath(path, known)
  if (meant !== null) return `; it is at ${meant}, so check the client's base URL`
  // The API before chat: LlamaIndex's OpenAILike calls it unless `is_chat_model` is set.
  return TEXT_COMPLETIONS.test(path) ? '; models are asked at /v1/chat/completions, so set the client to chat' : ''
}

const TEXT_COMPLETIONS = /\/completions\/?$/i

/**
 * Finds the path that a client meant with `/v1` left out, given twice, or behind somebody else's prefix. Null where no known
 * path ends like this one. `known` are paths without parameters.
 */
export function nearestPath(path: string, known: readonly string[]): string | null {
  const requested = path.toLowerCase().replace(/(?<!\/)\/+$/, '')
  const candidates = known.filter((candidate) => requested.endsWith(candidate.replace(/^\/v1\//, '/')))
  return candidates.toSorted((one, other) => other.length - one.length)[0] ?? null
}
