/**
 * Calls that all processes, or the ledger, work for wait in their caller's line. A caller's flood of them leaves those processes to
 * others, however many edges it reaches.
 */

import type { AdministrationCredential, CallOrigin } from '@gateway/contracts/administration/envelope'
import { GatewayError } from '@gateway/contracts/errors'
import { openLines } from '@gateway/rpc/lines'
import type { KnownAdminKeys } from './known-admin-keys.ts'

/** A page of the console makes a dozen calls at once. */
const LINE = { atOnce: 4, mostWaiting: 64, refuse: tooMany }
const RETRY_AFTER_MS = 1_000

interface Call {
  credential: AdministrationCredential
  origin: CallOrigin
}

export type CallerLines = ReturnType<typeof openCallerLines>

export function openCallerLines(adminKeys: Pick<KnownAdminKeys, 'has'>) {
  const inLine = openLines(LINE)
  return <Result>(call: Call, serve: () => Promise<Result>): Promise<Result> => inLine(callerOf(adminKeys, call), serve)
}

/** An admin key that nobody has proven waits in the line of its address. */
function callerOf(adminKeys: Pick<KnownAdminKeys, 'has'>, { credential, origin }: Call): string {
  if (credential.kind === 'sign_in') return `person ${credential.issuer} ${credential.subject}`
  if (credential.kind === 'admin_key' && adminKeys.has(credential.hash)) return `admin key ${credential.hash}`
  return `address ${origin.address}`
}

function tooMany(): GatewayError {
  const sentence = `Too many of this caller's calls wait; try again in ${RETRY_AFTER_MS} ms`
  return new GatewayError('rate_limit_exceeded', sentence, { type: 'requests', retryAfterMs: RETRY_AFTER_MS })
}
