/**
 * A program that runs beside us until it is disposed, with its output in a file. It ends with us, `kill -9` included.
 */

import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { dieWithParent } from '@gateway/embedded-postgres/die-with-parent'

export interface DaemonPlan {
  name: string
  file: string
  args: string[]
  environment?: Record<string, string>
  /** Gets `<name>.log`. */
  logs: string
  isReady(): Promise<boolean>
}

const READY_WITHIN_MS = 120_000
const POLL_MS = 100
const STOP_WITHIN_MS = 10_000

/** Resolves when the program is ready. */
export async function startDaemon(plan: DaemonPlan): Promise<AsyncDisposable> {
  const logPath = join(plan.logs, `${plan.name}.log`)
  const log = createWriteStream(logPath)
  const child = spawn(plan.file, plan.args, {
    env: { ...process.env, ...plan.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  dieWithParent(child)
  child.stdout.pipe(log, { end: false })
  child.stderr.pipe(log, { end: false })
  let hasEnded = false
  const ended = new Promise<void>((resolve) => {
    for (const event of ['exit', 'error'] as const) child.once(event, () => resolve())
  }).then(() => void (hasEnded = true))
  await using opening = new AsyncDisposableStack()
  opening.defer(async () => {
    child.kill('SIGTERM')
    if ((await Promise.race([ended, delay(STOP_WITHIN_MS, 'late' as const)])) === 'late') child.kill('SIGKILL')
    await ended
    log.end()
  })
  const deadlineMs = Date.now() + READY_WITHIN_MS
  while (!(await plan.isReady().catch(() => false))) {
    if (hasEnded || Date.now() > deadlineMs) {
      const lines = (await readFile(logPath, 'utf8')).trimEnd().split('\n')
      throw new Error(
        `${plan.name} ${hasEnded ? 'ended' : 'is not ready'}; ${logPath}:\n${lines.slice(-15).join('\n')}`,
      )
    }
    await delay(POLL_MS)
  }
  const opened = opening.move()
  return { [Symbol.asyncDispose]: () => opened.disposeAsync() }
}
