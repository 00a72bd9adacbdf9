/**
 * Informs an operator that a target serves nothing until somebody acts: its credential, its account or its model is at
 * fault. One warning comes at each change, with the next step, and not one at each request. A shortage of the router's
 * own is reported as one, too.
 */

import type { Logger } from '@gateway/telemetry/logger'
import type { Trouble } from './core/account-trouble.ts'
import type { BackendFault } from './core/backend-fault.ts'
import { credentialAdvice } from './vendors/authentication.ts'
import type { Target } from './backend-registry.ts'

const SENTENCES: Record<Trouble, (target: Target) => string> = {
  missing: ({ backend }) => `the router finds no credential for a backend: ${credentialAdvice(backend.config)}`,
  refused: ({ backend }) => `a backend refuses the router's credential: ${credentialAdvice(backend.config)}`,
  unpaid: () => 'a backend serves nothing until its account is paid, or its limit is raised',
  no_model: () => "a backend does not have the model of a target: mend the target's model, or the backend's url",
}

/** `fault`: how the last attempt at the target ended. */
export function reportTrouble(target: Target, fault: BackendFault, log: Logger): void {
  const trouble = troubleIn(fault)
  if (trouble === undefined || trouble === target.state.trouble) return
  target.state.trouble = trouble
  const said = fault.body ? { said: fault.body } : {}
  log.warn({ ...fieldsOf(target), err: fault, ...said }, SENTENCES[trouble](target))
}

/** The target was in trouble, and has served. */
export function reportRecovery(target: Target, log: Logger): void {
  target.state.trouble = undefined
  log.info(fieldsOf(target), 'a target serves again')
}

function fieldsOf({ model, backend: { config } }: Target) {
  return { backend: config.id, model, ...(config.vendor ? { vendor: config.vendor } : {}) }
}

const SHORTAGE_REPORTED_EVERY_MS = 60_000
const SHORTAGE =
  'this router cannot open connections, and no backend is to blame: raise its limit of open files (EMFILE, ENFILE), the range of local ports (EADDRNOTAVAIL) or the memory (ENOBUFS, ENOMEM), or run more routers'

export type ShortageReports = ReturnType<typeof openShortageReports>

/** Every request meets a shortage while there is one, so the log has it once a minute. */
export function openShortageReports(log: Logger) {
  let reportedAtMs = -Infinity
  return {
    report(fault: BackendFault): void {
      const nowMs = performance.now()
      if (fault.kind !== 'shortage' || nowMs - reportedAtMs < SHORTAGE_REPORTED_EVERY_MS) return
      reportedAtMs = nowMs
      log.error({ err: fault }, SHORTAGE)
    },
  }
}

/** Undefined where the fault says nothing of it. */
function troubleIn({ kind, status, account }: BackendFault): Trouble | undefined {
  if (account === 'quoted') return undefined
  if (account === 'unpaid' || status === 402) return 'unpaid'
  if (account === 'no_model' || status === 404) return 'no_model'
  if (account === 'credential' && kind === 'connect') return 'missing'
  return account === 'credential' || status === 401 || status === 403 ? 'refused' : undefined
}
