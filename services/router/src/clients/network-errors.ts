/**
 * The meaning of a network error: which step failed, by the error codes of Node.js and undici.
 *
 * A process or machine that has run out of files, ports or memory for sockets fails at every backend alike. No backend
 * is at fault for that, so it is a kind of its own.
 */

import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import { errors } from 'undici'
import { BackendFault, type FaultKind } from '../core/backend-fault.ts'

const DNS_CODES = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL', 'EAI_NODATA', 'EAI_NONAME'])
const TLS_CODE = /^(ERR_TLS|ERR_SSL|EPROTO|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH)/

const SHORTAGE_CODES = new Set(['EMFILE', 'ENFILE', 'EADDRNOTAVAIL', 'ENOBUFS', 'ENOMEM'])

export function faultOfError(error: unknown, state: 'connecting' | 'connected'): BackendFault {
  if (error instanceof BackendFault) return error
  if (error instanceof errors.HTTPParserError)
    return new BackendFault('invalid_answer', 'the backend does not speak HTTP', { cause: error })
  return (
    shortageIn(error) ??
    new BackendFault(kindOf(codeOf(error), state), 'the connection to the backend failed', { cause: error })
  )
}

/** A fault of this router's own; null where the error names none. */
export function shortageIn(error: unknown): BackendFault | null {
  const codes = codesOf(error)
  // A backend of several addresses may have a bad one.
  const isShortage = codes.length > 0 && codes.every((code) => SHORTAGE_CODES.has(code))
  const shortage = isShortage ? codes[0] : codes.some((code) => DNS_CODES.has(code)) ? shortageOfFiles() : undefined
  if (shortage === undefined) return null
  return new BackendFault('shortage', `the router itself could not open a connection: ${shortage}`, { cause: error })
}

/** The resolver needs files, and where it gets none it says that the name is not known. */
function shortageOfFiles(): string | undefined {
  try {
    closeSync(openSync(devNull, 'r'))
    return undefined
  } catch (error) {
    return codesOf(error).find((code) => SHORTAGE_CODES.has(code))
  }
}

function kindOf(code: string, state: 'connecting' | 'connected'): FaultKind {
  if (DNS_CODES.has(code)) return 'dns'
  if (TLS_CODE.test(code)) return 'tls'
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return 'connect_timeout'
  return state === 'connecting' ? 'connect' : 'reset'
}

function codeOf(error: unknown): string {
  const codes = codesOf(error)
  return codes.find((code) => !SHORTAGE_CODES.has(code)) ?? codes[0] ?? ''
}

/** The code of an error, or of those behind it: several addresses that were tried in turn give an AggregateError. */
function codesOf(error: unknown): string[] {
  if (!(error instanceof Error)) return []
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.flatMap(codesOf)
  const { code } = error as NodeJS.ErrnoException
  return code ? [code] : codesOf(error.cause)
}
