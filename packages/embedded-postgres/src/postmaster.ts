/**
 * One PostgreSQL server process: makes its data folder, starts it, knows when it is ready, stops it.
 *
 * As root, the server runs as an account without rights. That account may be unable to reach the data folder by its path (a
 * checkout below /root). It therefore inherits the opened folder and calls it `/proc/self/fd/3`, which the kernel resolves
 * without walking a path. The server is ready when `postmaster.pid` says so; its port opens earlier.
 */

import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { access, chown, mkdir, open, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { dieWithParent } from './die-with-parent.ts'
import { stopLeftover } from './leftover.ts'
import { unprivilegedAccount } from './unprivileged-account.ts'

/** After a kill the server first goes through its log of writes, which takes as long as it takes. */
const START_TIMEOUT_MS = 600_000
const SAY_EVERY_MS = 10_000
const POLL_MS = 10

/**
 * PostgreSQL's shutdown modes. Fast ends sessions and writes a checkpoint; immediate leaves recovery to the next start.
 */
export const FAST = 'SIGINT'
export const IMMEDIATE = 'SIGQUIT'

export interface PostmasterOptions {
  /** Holds `initdb` and `postgres`. */
  binDirectory: string
  dataDirectory: string
  port: number
  settings: Record<string, string>
  /** The server's fate when this process dies. */
  onParentDeath: typeof FAST | typeof IMMEDIATE
  log(line: string): void
  /** Receives each step that takes longer than usual, with the reason. */
  say?(line: string): void
}

export interface Postmaster {
  readonly pid: number
  /** Resolves when the process is gone, for any reason. */
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  kill(signal: NodeJS.Signals): void
}

interface DataPlace {
  /** Holds the data folder, and the password beside it. */
  directory: string
  binDirectory: string
  /** The superuser. */
  user: string
  /** False skips waiting for the disk, for servers that live as long as a test. */
  durable: boolean
}

/** The data folder, made where there is none, and the password that its superuser signs in with. */
export async function openDataDirectory(place: DataPlace): Promise<{ dataDirectory: string; password: string }> {
  const dataDirectory = join(place.directory, 'data')
  const passwordFile = join(place.directory, 'password')
  const isThere = await access(dataDirectory).then(
    () => true,
    () => false,
  )
  if (isThere) return { dataDirectory, password: await readFile(passwordFile, 'utf8') }
  const password = randomBytes(24).toString('base64url')
  // The password first: data without it would be out of reach.
  await writeFile(passwordFile, password, { mode: 0o600 })
  await initDataDirectory({ ...place, dataDirectory, password })
  return { dataDirectory, password }
}

/** All or nothing: it is built beside and renamed. */
async function initDataDirectory(options: DataPlace & { dataDirectory: string; password: string }): Promise<void> {
  const account = unprivilegedAccount()
  const draft = `${options.dataDirectory}.new-${process.pid}`
  const passwordFile = `${draft}.password`
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft, { mode: 0o700, recursive: true })
  try {
    if (account) await chown(draft, account.uid, account.gid)
    await writeFile(passwordFile, options.password, { mode: 0o600 })
    if (account) await chown(passwordFile, account.uid, account.gid)
    await using passwordHandle = await open(passwordFile, 'r')
    const args = ['--username', options.user, '--pwfile', '/dev/stdin', '--auth', 'scram-sha-256', '--encoding', 'UTF8']
    args.push('--locale', 'C', '--no-instructions', ...(options.durable ? [] : ['--no-sync']))
    const initdb = spawnOn(draft, join(options.binDirectory, 'initdb'), args, passwordHandle.fd)
    dieWithParent(initdb)
    const output = collect(initdb)
    const [code, signal] = (await once(initdb, 'close')) as [number | null, NodeJS.Signals | null]
    if (code !== 0) throw new Error(`initdb failed (${signal ?? `exit code ${code}`}): ${output().trim()}`)
    await rename(draft, options.dataDirectory)
  } finally {
    await rm(draft, { recursive: true, force: true })
    await rm(passwordFile, { force: true })
  }
}

/**
 * Starts a server on an existing data folder and waits until it takes connections, recovery included. The folder is the caller's
 * alone: a PostgreSQL process that still works in it is a leftover, and is stopped first.
 */
export async function startPostmaster(options: PostmasterOptions): Promise<Postmaster> {
  const dataDirectory = await realpath(options.dataDirectory)
  const { log, say = log } = options
  await stopLeftover(dataDirectory, log, say)
  const args = ['-p', String(options.port), '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=']
  for (const [name, value] of Object.entries(options.settings)) args.push('-c', `${name}=${value}`)
  const child = spawnOn(dataDirectory, join(options.binDirectory, 'postgres'), args)
  dieWithParent(child, options.onParentDeath)
  const output = collect(child, log)
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('error', () => resolve({ code: null, signal: null }))
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
  const stillStarting = () => say(`PostgreSQL is still starting: ${output().trim().split('\n').at(-1)}`)
  const reporting = setInterval(stillStarting, SAY_EVERY_MS)
  await untilReady(child, dataDirectory, exited, output).finally(() => clearInterval(reporting))
  return { pid: child.pid!, exited, kill: (signal) => void child.kill(signal) }
}

async function untilReady(
  child: ChildProcess,
  dataDirectory: string,
  exited: Promise<unknown>,
  output: () => string,
): Promise<void> {
  let gone = false
  void exited.then(() => (gone = true))
  const deadlineMs = Date.now() + START_TIMEOUT_MS
  while (Date.now() < deadlineMs) {
    if (gone) throw new Error(`PostgreSQL did not start: ${output().trim() || `cannot run ${child.spawnfile}`}`)
    const lines = await readFile(join(dataDirectory, 'postmaster.pid'), 'utf8').then(
      (text) => text.split('\n'),
      () => [],
    )
    // The file of a killed predecessor may still lie there, hence the pid.
    if (Number(lines[0]) === child.pid && lines[7]?.trim() === 'ready') return
    await delay(POLL_MS)
  }
  child.kill('SIGKILL')
  throw new Error(`PostgreSQL was not ready within ${START_TIMEOUT_MS / 1000} s: ${output().trim()}`)
}

/** Runs a PostgreSQL program on `dataDirectory`, without rights when we are root. */
function spawnOn(dataDirectory: string, program: string, args: string[], stdin?: number): ChildProcess {
  const account = unprivilegedAccount()
  const folder = account ? openSync(dataDirectory, 'r') : undefined
  try {
    return spawn(program, ['-D', folder === undefined ? dataDirectory : '/proc/self/fd/3', ...args], {
      // Versions before 16 leave their working directory for a moment and must be able to come back.
      cwd: '/',
      // Its own session: Ctrl-C must not stop the database before those who still write to it.
      detached: true,
      stdio: [stdin ?? 'ignore', 'pipe', 'pipe', ...(folder === undefined ? [] : [folder])],
      env: { PATH: process.env['PATH'], TZ: 'UTC', LC_ALL: 'C' },
      ...account,
    })
  } finally {
    if (folder !== undefined) closeSync(folder)
  }
}

/** Passes lines on to `log` and keeps the last few kilobytes for error messages. */
export function collect(child: ChildProcess, log?: (line: string) => void): () => string {
  let tail = ''
  for (const stream of [child.stdout!, child.stderr!]) {
    let rest = ''
    stream.setEncoding('utf8').on('data', (text: string) => {
      tail = (tail + text).slice(-4096)
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      if (log) for (const line of lines) log(line)
    })
  }
  return () => tail
}
