/**
 * Reports refused credentials of administration calls to the audit log, which the keys service writes. No response waits for a
 * report, and a flood of refusals makes ten reports a second.
 */

import type { CallOrigin } from '@gateway/contracts/administration/envelope'
import { GatewayError } from '@gateway/contracts/errors'
import type { ClientAddress } from './client-network.ts'
import { measuredOf, type StepRequest, type StepResponse } from './take-steps.ts'
import type { KeysClient } from '../rpc/service-clients.ts'
import type { KnownAdminKeys } from '../auth/known-admin-keys.ts'

interface ReportContext {
  keys: Pick<KeysClient, 'administer'>
  adminKeys: KnownAdminKeys
  clientAddress: ClientAddress
}

export function reportRefused(
  { keys, adminKeys, clientAddress }: ReportContext,
  request: StepRequest,
  response: StepResponse,
  refusal: unknown,
): void {
  const code = refusal instanceof GatewayError ? refusal.code : null
  if (code !== 'INVALID_KEY' && code !== 'INVALID_TOKEN') return
  const count = adminKeys.noteRefusal(performance.now())
  if (count === null) return
  const origin = originOf(clientAddress, request, response)
  const credential = { kind: 'refused' as const, code, count }
  // The reply is the refusal itself. Without a reply the audit log lacks the row.
  keys.administer({ operation: 'projects.list', input: {}, credential, origin }, false).catch(() => {})
}

const LONGEST_AGENT = 512

export function originOf(clientAddress: ClientAddress, request: StepRequest, response: StepResponse): CallOrigin {
  return {
    requestId: measuredOf(response).requestId,
    address: clientAddress(request) || null,
    userAgent: request.headers['user-agent']?.slice(0, LONGEST_AGENT) ?? null,
  }
}
