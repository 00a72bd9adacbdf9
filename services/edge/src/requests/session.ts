/**
 * The session that a request belongs to, as its client names it: in a header, or in its body. Coding tools name the session, and
 * the agent of it that sends the request.
 *
 * A client may write any text, so an id is bounded. Pools with `affinity: conversation` keep an agent's requests on one target,
 * and the ledger's row has the ids, to group usage by.
 */

import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { isObject, type JsonObject } from '@gateway/contracts/json'

export interface Session {
  id: string
  /** The part of the session with a prompt of its own; the main one has no id. */
  agentId?: string | undefined
  parentAgentId?: string | undefined
  /** The client's own word for requests that share a prompt cache: it goes before the session. */
  cacheKey?: string | undefined
}

interface Names {
  session: string
  agent?: string
  parentAgent?: string
}

/**
 * Claude Code: code.claude.com/docs/en/llm-gateway-protocol (November 2026). Codex: `session-id` and `thread-id` since 2026,
 * `session_id` and `conversation_id` before (`codex-rs/codex-api` of openai/codex). opencode and pi: `x-session-id` and
 * `x-session-affinity` (2026).
 */
const HEADERS: readonly Names[] = [
  {
    session: 'x-claude-code-session-id',
    agent: 'x-claude-code-agent-id',
    parentAgent: 'x-claude-code-parent-agent-id',
  },
  { session: 'session-id', agent: 'thread-id', parentAgent: 'x-codex-parent-thread-id' },
  { session: 'session_id', agent: 'thread_id' },
  { session: 'conversation_id' },
  { session: 'x-session-id' },
  { session: 'x-session-affinity' },
]

/** The header goes before the body, whose `prompt_cache_key` still says which requests share a cache. */
export function sessionOf(headers: IncomingHttpHeaders, inBody: Session | undefined): Session | undefined {
  for (const { session, agent, parentAgent } of HEADERS) {
    const id = boundedId(headers[session])
    if (id === undefined) continue
    const agentId = agent === undefined ? undefined : boundedId(headers[agent])
    return {
      id,
      // The main thread of Codex has the session's own id.
      agentId: agentId === id ? undefined : agentId,
      parentAgentId: parentAgent === undefined ? undefined : boundedId(headers[parentAgent]),
      cacheKey: inBody?.cacheKey,
    }
  }
  return inBody
}

/** OpenAI's `prompt_cache_key`, which chat and the Responses API have. */
export function sessionOfCacheKey(key: unknown): Session | undefined {
  const id = boundedId(key)
  return id === undefined ? undefined : { id, cacheKey: id }
}

/**
 * Claude Code writes its session into `metadata.user_id`: as JSON with a `session_id` since 2.1.78, and before as
 * `user_…_account_…_session_<uuid>`.
 */
export function sessionOfUserId(userId: unknown): Session | undefined {
  if (typeof userId !== 'string') return undefined
  const id = boundedId(userId.startsWith('{') ? membersIn(userId)['session_id'] : IN_USER_ID.exec(userId)?.[1])
  return id === undefined ? undefined : { id }
}

const IN_USER_ID = /_session_([\w-]{8,64})$/

function membersIn(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

/** An id may be a whole text; a digest of it groups requests as well. */
const PLAIN_ID = /^[\x21-\x7e]{1,128}$/

function boundedId(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const id = value.trim()
  if (id === '') return undefined
  return PLAIN_ID.test(id) ? id : `sha256:${createHash('sha256').update(id).digest('base64url')}`
}

/** Requests with the same key prefer the same target. Two accounts have no conversation in common. */
export function affinityKeyOf(account: string, { id, agentId, cacheKey }: Session): string {
  const parts = cacheKey === undefined ? ['session', id, agentId ?? ''] : ['cache', cacheKey]
  return createHash('sha256')
    .update(JSON.stringify([account, ...parts]))
    .digest('base64url')
}
