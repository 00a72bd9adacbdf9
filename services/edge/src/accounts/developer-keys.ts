/**
 * `/v1/keys/developer`: mint, rotate, revoke and list the keys of the person who signed in.
 *
 * A rotate or revoke responds with 200 only once no edge admits the old key any more. A key that is not the caller's, or not
 * a key at all, is INVALID_KEY, and nothing changes.
 */

import type { z } from 'zod'
import { keyIdOf, maskKey, parseKey } from '@gateway/contracts/api-key'
import {
  currentKeyRequest,
  developerKeyListQuery,
  type developerKeyListResponse,
  type developerKeyResponse,
  mintKeyBody,
  type revokedKeyResponse,
  type rotatedKeyResponse,
} from '@gateway/contracts/developer-keys-api'
import { GatewayError } from '@gateway/contracts/errors'
import { hashKey, invalidKey } from '../auth/authenticate.ts'
import type { ClientAddress } from '../http/client-network.ts'
import { originOf } from '../http/report-refused.ts'
import type { KeysClient } from '../rpc/service-clients.ts'
import { parseBody } from '../requests/inference-kinds.ts'
import type { Handler } from '../http/handler.ts'

interface DeveloperKeysContext {
  keys: KeysClient
  clientAddress: ClientAddress
}

export function mintDeveloperKey(edge: DeveloperKeysContext): Handler<'sign-in'> {
  return async (request, response, owner) => {
    if (request.body !== undefined) parseBody(mintKeyBody, request.body)
    const origin = originOf(edge.clientAddress, request, response)
    const reply = await edge.keys.mint({ owner, origin, readsSuspended: true })
    if (reply.kind === 'suspended') throw accountSuspended()
    const { key, plan } = reply
    response.json({ key, plan } satisfies z.infer<typeof developerKeyResponse>)
  }
}

export function accountSuspended(): GatewayError {
  return new GatewayError('FORBIDDEN', 'The account is suspended; ask the operator of this gateway to restore it')
}

export function rotateDeveloperKey(edge: DeveloperKeysContext): Handler<'sign-in'> {
  return async (request, response, owner) => {
    const reply = await edge.keys.rotate({
      owner,
      keyHash: currentKeyHash(request.body),
      origin: originOf(edge.clientAddress, request, response),
    })
    if (reply.kind === 'invalid') throw invalidKey()
    response.json({ key: reply.key, plan: reply.plan, rotated: true } satisfies z.infer<typeof rotatedKeyResponse>)
  }
}

export function revokeDeveloperKey(edge: DeveloperKeysContext): Handler<'sign-in'> {
  return async (request, response, owner) => {
    const reply = await edge.keys.revoke({
      owner,
      keyHash: currentKeyHash(request.body),
      origin: originOf(edge.clientAddress, request, response),
    })
    if (reply.kind === 'invalid') throw invalidKey()
    response.json({ key: maskKey(reply.keyId), revoked: true } satisfies z.infer<typeof revokedKeyResponse>)
  }
}

export function listDeveloperKeys(edge: DeveloperKeysContext): Handler<'sign-in'> {
  return async (request, response, owner) => {
    const { after } = parseBody(developerKeyListQuery, request.query)
    const { keys, next, isUnknown } = await edge.keys.list({ owner, ...(after && { after: keyIdOf(after) }) })
    if (isUnknown) throw new GatewayError('VALIDATION_ERROR', 'after: is not the next of a page before')
    const data = keys.map(({ keyId, plan, status, createdAt, lastUsedAt }) => ({
      key: maskKey(keyId),
      plan,
      // A newer keys service may know more ways for a key not to be active.
      status: status === 'active' ? ('active' as const) : ('deactivated' as const),
      created_at: createdAt,
      last_used_at: lastUsedAt,
    }))
    const page = { object: 'list' as const, data, next: next && maskKey(next).slice(0, -1) }
    response.json(page satisfies z.infer<typeof developerKeyListResponse>)
  }
}

/** The key itself stays on the edge: calls to keys carry its hash. */
function currentKeyHash(body: unknown): string {
  const { key } = parseBody(currentKeyRequest, body)
  if (!parseKey(key)) throw invalidKey()
  return hashKey(key)
}
