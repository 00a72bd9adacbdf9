/**
 * What an error of the network means: which step failed, by the error codes of Node.js and undici.
 */

import { errors } from 'undici'
import { BackendFault, type FaultKind } from '../core/backend-fault.ts'

const DNS_CODES = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EAI_NODATA', 'EAI_NONAME'])
const TLS_CODE = /^(ERR_TLS|ERR_SSL|EPROTO|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH)/

export function faultOfError(error: unknown, state: 'connecting' | 'connected'): BackendFault {
  if (error instanceof BackendFault) return error
  if (error instanceof errors.HTTPParserError)
    return new BackendFault('invalid_answer', 'the backend does not speak HTTP', { cause: error })
  return new BackendFault(kindOf(codeOf(error), state), 'the connection to the backend failed', { cause: error })
}

function kindOf(code: string, state: 'connecting' | 'connected'): FaultKind {
  if (DNS_CODES.has(code)) return 'dns'
  if (TLS_CODE.test(code)) return 'tls'
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return 'connect_timeout'
  return state === 'connecting' ? 'connect' : 'reset'
}

/** The code of an error, or of the one behind it (several addresses tried at once give an AggregateError). */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return ''
  const { code } = error as NodeJS.ErrnoException
  if (code) return code
  if (error instanceof AggregateError) return codeOf(error.errors[0])
  return codeOf(error.cause)
}
