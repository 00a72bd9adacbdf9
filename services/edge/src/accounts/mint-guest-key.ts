/**
 * `POST /v1/keys/guest`: a key for a device, without an account. The same device gets the same key.
 */

import type { z } from 'zod'
import { GatewayError } from '@gateway/contracts/errors'
import { guestKeyRequest, type guestKeyResponse } from '@gateway/contracts/keys-api'
import type { ClientNetwork } from '../http/client-network.ts'
import type { KeysClient } from '../rpc/service-clients.ts'
import type { Handler } from '../http/handler.ts'
import { accountSuspended } from './developer-keys.ts'
import { parseBody } from '../requests/inference-kinds.ts'

interface GuestKeysContext {
  keys: KeysClient
  clientNetwork: ClientNetwork
}

export function mintGuestKey(edge: GuestKeysContext): Handler<'none'> {
  return async (request, response) => {
    const { device_id: deviceId } = parseBody(guestKeyRequest, request.body)
    const clientNetwork = edge.clientNetwork(request)
    const reply = await edge.keys.mintGuest({ deviceId, clientNetwork, readsSuspended: true })
    if (reply.kind === 'limited') {
      throw new GatewayError('rate_limit_exceeded', 'Too many new devices from this address; try again later', {
        type: 'guest_mint',
        retryAfterMs: reply.retryAfterMs,
      })
    }
    if (reply.kind === 'suspended') throw accountSuspended()
    if (reply.kind === 'busy') {
      const { retryAfterMs } = reply
      throw new GatewayError('SERVICE_UNAVAILABLE', 'Too many requests for new keys; try again shortly', {
        retryAfterMs,
      })
    }
    response.json({
      key: reply.key,
      plan: reply.plan,
      rate_limit_per_day: reply.rateLimitPerDay,
    } satisfies z.infer<typeof guestKeyResponse>)
  }
}
