/** A coding agent as a registry ships it. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { ModelRequest } from './wire/wire.ts'

/** A step of the task. */
export interface Step {
  number: number
  /** For a shell. */
  command: string
}

export interface Work {
  /** The gateway's address, without a version. */
  url: string
  key: string
  model: string
  repository: string
  /** An empty folder for the agent's own files. */
  home: string
  task: string
}

export interface Agent {
  name: string
  title: string
  version: string
  /** Installs it once. Throws where that is impossible here. */
  install(): Promise<void>
  run(work: Work, signal: AbortSignal): Promise<Ran>
  /** The call by which its model runs a command; the whole work as one text where it has no tools. */
  callFor: ((step: Step) => { name: string; args: Record<string, unknown> }) | { writeAll(steps: Step[]): string }
  /** Its turn ends with each step, and it compacts between turns alone. */
  endsTurns?: boolean
  /** The request wants a summary of the conversation, in the agent's own words. */
  isSummary(request: ModelRequest): boolean
  /** A request beside the task, such as for a title. */
  isSide(request: ModelRequest): boolean
  /** It cannot compact in this way of running: the reason. */
  neverCompacts?: string
}

export interface Ran {
  code: number | null
  out: string
  err: string
}

/** A program with nothing to read, and with the given environment alone. */
export async function runProgram(
  program: string,
  args: string[],
  options: { cwd: string; env: Record<string, string>; signal: AbortSignal },
): Promise<Ran> {
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: { PATH: process.env['PATH'] ?? '', ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // Its own children end with it.
    detached: true,
  })
  const end = () => {
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
  }
  options.signal.addEventListener('abort', end, { once: true })
  let out = ''
  let err = ''
  child.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()))
  child.stderr.on('data', (bytes: Buffer) => (err += bytes.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  options.signal.removeEventListener('abort', end)
  return { code, out, err }
}
