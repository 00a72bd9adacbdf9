/**
 * Runs a server program and waits until it serves.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { dieWithParent } from '@gateway/embedded-postgres/die-with-parent'
import { collect } from '@gateway/embedded-postgres/postmaster'
import type { Running } from './local-server.ts'

const START_TIMEOUT_MS = 30_000
const POLL_MS = 20

export interface Program {
  file: string
  args: string[]
  cwd: string
  port: number
  /** Text to send to the port (nothing: the server speaks first), and a test of its reply that shows that it serves. */
  greet?: string
  serves(reply: string): boolean
  log?(line: string): void
}

export async function runProgram(program: Program): Promise<Running> {
  const child = spawn(program.file, program.args, {
    cwd: program.cwd,
    // Its own session: Ctrl-C must not stop it before those who still write to it.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = collect(child, program.log)
  const exited = new Promise<Error | null>((resolve) => {
    child.once('error', resolve)
    child.once('exit', () => resolve(null))
  })
  dieWithParent(child)

  const deadlineMs = Date.now() + START_TIMEOUT_MS
  for (;;) {
    const serves = await greets(program)
    // Another server may have replied on the port while our process was failing to get it.
    const life = await Promise.race([exited, delay(serves ? 0 : POLL_MS, 'lives' as const)])
    if (life !== 'lives') throw new Error(`${program.file} did not start: ${life?.message ?? output().trim()}`)
    if (serves) break
    if (Date.now() > deadlineMs) {
      child.kill('SIGKILL')
      const limit = `${START_TIMEOUT_MS / 1000} s`
      throw new Error(`${program.file} did not serve on port ${program.port} within ${limit}: ${output().trim()}`)
    }
  }
  return { pid: child.pid!, exited, kill: (signal) => void child.kill(signal) }
}

async function greets(program: Program): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', port: program.port })
  try {
    await once(socket, 'connect')
    if (program.greet) socket.write(program.greet)
    const [reply] = (await once(socket, 'data', { signal: AbortSignal.timeout(1_000) })) as [Buffer]
    return program.serves(reply.toString('latin1'))
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
