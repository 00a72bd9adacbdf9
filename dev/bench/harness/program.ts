/**
 * Programs that the bench starts: ones that run to their end (installers), and servers that are waited for and stopped.
 *
 * None outlives the bench, `kill -9` included.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { dieWithParent } from '@gateway/embedded-postgres/die-with-parent'

export interface Command {
  file: string
  args: string[]
  cwd?: string
  environment?: NodeJS.ProcessEnv
  logFile: string
  signal?: AbortSignal
}

/** Resolves when it ended well; else throws the last lines of its log. */
export async function runToEnd(command: Command): Promise<void> {
  const child = start(command)
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
  command.signal?.throwIfAborted()
  if (code !== 0) throw new Error(`${command.file} ended with ${signal ?? code}: ${lastLines(command.logFile)}`)
}

export interface RunningProgram extends AsyncDisposable {
  readonly pid: number
}

/** Resolves when it listens on the port. */
export async function runServer(command: Command, port: number, timeoutMs = 90_000): Promise<RunningProgram> {
  const child = start(command)
  let exited = false
  const exit = once(child, 'close').then(
    () => (exited = true),
    () => (exited = true),
  )
  const stop = async (): Promise<void> => {
    if (exited || child.pid === undefined) return
    kill(-child.pid, 'SIGTERM')
    await Promise.race([exit, sleep(STOP_MS)])
    // Its children may be slower than itself.
    kill(-child.pid, 'SIGKILL')
    await exit
  }
  const deadlineAtMs = Date.now() + timeoutMs
  while (!(await listens(port))) {
    const problem = exited
      ? 'ended'
      : Date.now() > deadlineAtMs
        ? `did not listen within ${timeoutMs / 1_000} s`
        : undefined
    if (problem === undefined && !command.signal?.aborted) await sleep(POLL_MS)
    else {
      await stop()
      command.signal?.throwIfAborted()
      throw new Error(`${command.file} ${problem}: ${lastLines(command.logFile)}`)
    }
  }
  return { pid: child.pid!, [Symbol.asyncDispose]: stop }
}

const STOP_MS = 5_000
const POLL_MS = 100
const LINES_SHOWN = 3

function start({ file, args, cwd, environment, logFile, signal }: Command) {
  const log = openSync(logFile, 'w')
  // Its own group: Ctrl-C reaches the bench alone, which stops everything in order.
  const child = spawn(file, args, { cwd, env: environment, stdio: ['ignore', log, log], detached: true, signal })
  closeSync(log)
  child.on('error', () => {})
  dieWithParent(child)
  return child
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Resolves with true when a server listens on the loopback port. */
export async function listens(port: number): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', port })
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

function lastLines(logFile: string): string {
  return readFileSync(logFile, 'utf8').trim().split('\n').slice(-LINES_SHOWN).join(' | ')
}
