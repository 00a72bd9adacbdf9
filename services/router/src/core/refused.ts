/**
 * A request that the target could only answer differently from what was asked. The client is told, and its field named.
 */

import { BackendFault } from './backend-fault.ts'

export function refused(field: string, why: string): BackendFault {
  const message = `${field} ${why}`
  const body = JSON.stringify({ error: { message, type: 'invalid_request_error', param: field, code: null } })
  return new BackendFault('status', message, { status: 400, body, isUnsent: true })
}
