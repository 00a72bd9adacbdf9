/**
 * Metering as a process of its own, which a test kills with SIGKILL.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { dieWithParent } from '@gateway/embedded-postgres/die-with-parent'

/** `logLevel`: `fatal` where a test breaks things on purpose. */
export function startMetering(environment: Record<string, string>, logLevel: 'fatal' | 'warn'): ChildProcess {
  const metering = spawn(process.execPath, ['services/metering/src/main.ts'], {
    env: { ...environment, LOG_LEVEL: logLevel, HEALTH_PORT: '0' },
    stdio: 'inherit',
  })
  dieWithParent(metering)
  return metering
}

/** Resolves when the process is gone; it may be so already. */
export async function killProcess(process: ChildProcess): Promise<void> {
  if (process.exitCode !== null || process.signalCode !== null) return
  const exited = once(process, 'exit')
  process.kill('SIGKILL')
  await exited
}
