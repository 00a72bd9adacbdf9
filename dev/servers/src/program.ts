/**
 * Runs a server program and waits until it prints that it serves. A reply on its port would prove nothing: another
 * server may have taken the port meanwhile.
 */

import { spawn } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { dieWithParent } from '@gateway/embedded-postgres/die-with-parent'
import { collect } from '@gateway/embedded-postgres/postmaster'
import type { Running } from './local-server.ts'

const START_TIMEOUT_MS = 30_000

export interface Program {
  file: string
  args: string[]
  cwd: string
  /** The line that the program prints once it takes connections. */
  readyLine: RegExp
  log?(line: string): void
}

export async function runProgram({ file, args, cwd, readyLine, log }: Program): Promise<Running> {
  const child = spawn(file, args, {
    cwd,
    // Its own session: Ctrl-C must not stop it before those who still write to it.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ready = Promise.withResolvers<'ready'>()
  const output = collect(child, (line) => {
    log?.(line)
    if (readyLine.test(line)) ready.resolve('ready')
  })
  const exited = new Promise<Error | null>((resolve) => {
    child.once('error', resolve)
    child.once('exit', () => resolve(null))
  })
  dieWithParent(child)

  const late = new AbortController()
  const timeout = delay(START_TIMEOUT_MS, 'late' as const, { signal: late.signal }).catch(() => 'late' as const)
  const outcome = await Promise.race([ready.promise, exited, timeout]).finally(() => late.abort())
  if (outcome === 'ready') return { pid: child.pid!, exited, kill: (signal) => void child.kill(signal) }
  if (outcome !== 'late') throw new Error(`${file} did not start: ${outcome?.message ?? output().trim()}`)
  child.kill('SIGKILL')
  throw new Error(`${file} did not serve within ${START_TIMEOUT_MS / 1000} s: ${output().trim()}`)
}
