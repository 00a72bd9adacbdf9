/**
 * Leaves Claude Code's attribution block out of requests. It changes with a conversation or a turn. A target that does not
 * know it reads it as the prompt's beginning, and its prompt cache misses all that follows. So Anthropic's own API alone
 * gets it.
 */

import { ATTRIBUTION, withoutAttribution } from '@gateway/contracts/attribution'
import { isObject, objectsOf, parseExactly, type JsonObject } from '@gateway/contracts/json'
import { vendorByHost } from '@gateway/contracts/vendors'

/** The address decides: other vendors serve the same API, under the same settings. */
export function readsAttribution(url: string): boolean {
  return vendorByHost(url) === 'anthropic'
}

/** A request of any client's dialect; the same bytes where it has no such block. */
export function leaveOutAttribution(body: Buffer): Buffer {
  if (!body.includes(ATTRIBUTION)) return body
  const request = parseExactly(body.toString('utf8')) as JsonObject
  const isChanged = [...cleanMembers(request), ...cleanMessages(request)].includes(true)
  return isChanged ? Buffer.from(JSON.stringify(request)) : body
}

function cleanMembers(request: JsonObject): boolean[] {
  return ['system', 'instructions'].map((name) => cleanMember(request, name))
}

function cleanMessages(request: JsonObject): boolean[] {
  return ['messages', 'input'].map((name) => {
    const list: unknown = request[name]
    const spoken = objectsOf(list).filter(({ role }) => role === 'system' || role === 'developer')
    const emptied = new Set<unknown>()
    let isChanged = false
    for (const message of spoken) {
      if (!cleanMember(message, 'content')) continue
      isChanged = true
      if (message.content === undefined) emptied.add(message)
    }
    if (emptied.size > 0) request[name] = (list as unknown[]).filter((message) => !emptied.has(message))
    return isChanged
  })
}

/** Returns true when the member has changed. A member of which nothing is left is gone. */
function cleanMember(owner: JsonObject, name: string): boolean {
  const content = owner[name]
  const left = cleanContent(content)
  if (left === content) return false
  if (left === undefined) delete owner[name]
  else owner[name] = left
  return true
}

/** A text or a list of parts; undefined where nothing is left of it. */
function cleanContent(content: unknown): unknown {
  if (typeof content === 'string') return cleanText(content)
  if (!Array.isArray(content)) return content
  const parts = content as unknown[]
  const left = parts.flatMap((part) => {
    if (!isObject(part) || typeof part.text !== 'string') return [part]
    const text = cleanText(part.text)
    if (text === part.text) return [part]
    return text === undefined ? [] : [{ ...part, text }]
  })
  if (left.length === parts.length && left.every((part, at) => part === parts[at])) return content
  return left.length === 0 ? undefined : left
}

/** Undefined where the text is the block alone. */
function cleanText(text: string): string | undefined {
  const left = withoutAttribution(text)
  return left === '' && text !== '' ? undefined : left
}
