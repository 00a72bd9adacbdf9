/**
 * Keeps a process or a backing server running: it starts a dead one again after a pause, on the same ports, until it is
 * stopped.
 *
 * The child dies with this process, however that ends. Its output is appended to a file.
 */

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { dieWithParent } from '@gateway/embedded-postgres/die-with-parent'
import type { Server } from '@gateway/servers/start'

export interface ProcessPlan {
  /** Unique: `edge-1`. */
  name: string
  service: string
  /** Path of the entry, absolute or from the workspace's root. */
  script: string
  /** Words before the command, such as those that run it in another network. */
  launcher?: readonly string[]
  environment: NodeJS.ProcessEnv
  url: string
  /** The admin interface: its base address, and the path that returns 200 when the process is ready. */
  healthUrl: string
  readyPath: string
  logFile: string
  /** SIGKILL for a process that has not stopped by then, as Kubernetes does; undefined: never. */
  killAfterMs?: number
}

export interface SupervisedProcess {
  readonly plan: ProcessPlan
  /** Undefined while it is down. */
  readonly pid: number | undefined
  /** Resolves when it reports that it is ready; rejects when it has died or `timeoutMs` has passed. */
  ready(timeoutMs?: number): Promise<void>
  kill(signal: NodeJS.Signals): void
  /** Ends it in its own orderly way, and starts another version of it in its place. */
  replace(script: string): Promise<void>
  /** Ends it in its own orderly way, and does not start it again. */
  stop(): Promise<void>
}

const RESTART_AFTER_MS = 2_000
const POLL_MS = 50
const LINES_SHOWN = 12
const READY_TIMEOUT_MS = 60_000

export function supervise(plan: ProcessPlan, root: string, onChange: (event: string) => void): SupervisedProcess {
  let child: ChildProcess | undefined
  let restart: NodeJS.Timeout | undefined
  let isStopping = false
  let { script } = plan
  let deaths = 0

  function start(): void {
    const log = openSync(plan.logFile, 'a')
    const [file, ...args] = [...(plan.launcher ?? []), process.execPath, script]
    const started = spawn(file, args, {
      cwd: root,
      env: plan.environment,
      stdio: ['ignore', log, log],
      // Its own session: Ctrl-C must not stop all of them at once, in no order.
      detached: true,
    })
    closeSync(log)
    child = started
    dieWithParent(started)
    const onEnd = (reason: string) => {
      if (child !== started) return
      child = undefined
      deaths++
      if (isStopping) return
      restart = setTimeout(start, RESTART_AFTER_MS)
      onChange(
        `${plan.name} ended (${reason}); it is started again in ${RESTART_AFTER_MS / 1000} s (its log: ${plan.logFile})`,
      )
    }
    started.once('exit', (code, signal) => onEnd(signal ?? `exit code ${code}`))
    started.once('error', (error) => onEnd(error.message))
    onChange(`${plan.name} started (process ${started.pid})`)
  }

  async function stop(): Promise<void> {
    isStopping = true
    clearTimeout(restart)
    const ending = child
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return
    const ended = once(ending, 'exit')
    ending.kill('SIGTERM')
    // One that a test has frozen would never see it.
    ending.kill('SIGCONT')
    const killing =
      plan.killAfterMs === undefined ? undefined : setTimeout(() => ending.kill('SIGKILL'), plan.killAfterMs)
    await ended
    clearTimeout(killing)
  }

  start()
  return {
    plan,
    get pid() {
      return child?.pid
    },
    async ready(timeoutMs = READY_TIMEOUT_MS) {
      const deadlineAtMs = Date.now() + timeoutMs
      const deathsBefore = deaths
      while (Date.now() < deadlineAtMs) {
        if (child !== undefined && (await reportsReady(plan))) return
        if (deaths > deathsBefore) throw new Error(`${plan.name} did not start:\n${endOf(plan.logFile)}`)
        await delay(POLL_MS)
      }
      throw new Error(`${plan.name} was not ready within ${timeoutMs / 1000} s:\n${endOf(plan.logFile)}`)
    },
    kill: (signal) => void child?.kill(signal),
    async replace(other) {
      await stop()
      script = other
      isStopping = false
      start()
    },
    stop,
  }
}

async function reportsReady({ healthUrl, readyPath }: ProcessPlan): Promise<boolean> {
  try {
    return (await fetch(`${healthUrl}${readyPath}`, { signal: AbortSignal.timeout(1_000) })).ok
  } catch {
    return false
  }
}

function endOf(logFile: string): string {
  return readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-LINES_SHOWN).join('\n')
}

const LOOK_EVERY_MS = 100

/** Starts a backing server again, two seconds after it died. One that the environment names is not ours to start. */
export function keepServerRunning(name: string, server: Server, onChange: (event: string) => void): AsyncDisposable {
  if (server.pid === undefined) return { [Symbol.asyncDispose]: async () => {} }
  let diedAtMs: number | null = null
  let restarting: Promise<void> | null = null

  async function restart(): Promise<void> {
    try {
      await server.restart()
      diedAtMs = null
      onChange(`${name} started again (process ${server.pid})`)
    } catch (error) {
      diedAtMs = Date.now()
      onChange(`${name} could not be started again: ${String(error)}`)
    } finally {
      restarting = null
    }
  }

  const looking = setInterval(() => {
    if (restarting || server.pid !== undefined) return
    if (diedAtMs === null) {
      diedAtMs = Date.now()
      onChange(`${name} died; it is started again in ${RESTART_AFTER_MS / 1000} s`)
    } else if (Date.now() - diedAtMs >= RESTART_AFTER_MS) restarting = restart()
  }, LOOK_EVERY_MS)

  return {
    async [Symbol.asyncDispose]() {
      clearInterval(looking)
      await restarting
    },
  }
}
