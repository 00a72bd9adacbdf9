/**
 * The PostgreSQL server that npm delivers, as a part of this process: started with it, kept alive, stopped with it.
 *
 * Commits are durable (fsync, synchronous_commit). It listens on loopback only, for one user with a generated password
 * that only this user of the system may read. When this process is killed, the server shuts down by itself; one that
 * nevertheless is still there is stopped first at the next start. When the server dies, it is started again on the same
 * port, so that open pools find it.
 *
 * A failed first start is repeated on another port. Another process may have taken the first one meanwhile, or processes of a
 * killed server may still hold its memory.
 */

import { mkdir } from 'node:fs/promises'
import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { embeddedBinaries } from './binaries.ts'
import { freePort } from './free-port.ts'
import { ownFolder } from './own-folder.ts'
import { FAST, openDataDirectory, startPostmaster, type Postmaster } from './postmaster.ts'

const USER = 'gateway'
const FIRST_RESTART_PAUSE_MS = 100
const LONGEST_RESTART_PAUSE_MS = 5_000
const FIRST_STARTS = 5

const SETTINGS = {
  max_connections: '60',
  shared_buffers: '64MB',
  max_wal_size: '512MB',
  // Short transactions by design: compiling their queries costs more than it saves.
  jit: 'off',
  timezone: 'UTC',
}

export interface EmbeddedPostgres extends AsyncDisposable {
  readonly url: string
  /** The running server; undefined in the moment between its death and its restart. */
  readonly pid: number | undefined
}

/** Starts the server on `directory` (made when missing). Throws when another living process uses that folder. */
export async function startEmbeddedPostgres(options: {
  directory: string
  log?(line: string): void
  /** Receives each step that takes longer than usual, with the reason, for a person who waits. */
  say?(line: string): void
  choosePort?(): Promise<number>
}): Promise<EmbeddedPostgres> {
  const { log = () => {}, say = log, choosePort = freePort } = options
  const directory = resolve(options.directory)
  const binDirectory = await embeddedBinaries(log)
  if (!binDirectory) throw new Error(`npm has no PostgreSQL for ${process.platform}-${process.arch}: set DATABASE_URL`)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await using cleanup = new AsyncDisposableStack()
  cleanup.use(await ownFolder(directory))

  const { dataDirectory, password } = await openDataDirectory({ directory, binDirectory, user: USER, durable: true })
  const startOn = (port: number): Promise<Postmaster> =>
    startPostmaster({ binDirectory, dataDirectory, port, settings: SETTINGS, onParentDeath: FAST, log, say })
  const { first, port } = await startFirst(startOn, choosePort, say)
  const server = keepRunning(first, () => startOn(port), log)
  cleanup.defer(() => server.stop())
  const resources = cleanup.move()
  return {
    url: `postgres://${USER}:${password}@127.0.0.1:${port}/postgres`,
    get pid() {
      return server.pid()
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** Throws the error of the last start. */
async function startFirst(
  startOn: (port: number) => Promise<Postmaster>,
  choosePort: () => Promise<number>,
  say: (line: string) => void,
): Promise<{ first: Postmaster; port: number }> {
  for (let tries = 1, pauseMs = FIRST_RESTART_PAUSE_MS; ; tries++, pauseMs *= 2) {
    const port = await choosePort()
    try {
      return { first: await startOn(port), port }
    } catch (error) {
      if (tries === FIRST_STARTS) throw error
      say(`${(error as Error).message}: trying again`)
      await delay(pauseMs)
    }
  }
}

interface KeptServer {
  pid(): number | undefined
  stop(): Promise<void>
}

/** Starts the server again whenever it dies, until it is stopped. */
function keepRunning(first: Postmaster, start: () => Promise<Postmaster>, log: (line: string) => void): KeptServer {
  const stopping = new AbortController()
  let current: Postmaster | undefined = first

  const watch = async (): Promise<void> => {
    while (current) {
      const { code, signal } = await current.exited
      current = undefined
      if (stopping.signal.aborted) return
      log(`PostgreSQL ended (${signal ?? `exit code ${code}`}): starting it again`)
      current = await startUntilItRuns()
      // It may have come up again just before the stop.
      if (stopping.signal.aborted) current?.kill(FAST)
    }
  }

  const startUntilItRuns = async (): Promise<Postmaster | undefined> => {
    for (let pauseMs = FIRST_RESTART_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_RESTART_PAUSE_MS)) {
      await delay(pauseMs, undefined, { signal: stopping.signal }).catch(() => {})
      if (stopping.signal.aborted) return undefined
      try {
        return await start()
      } catch (error) {
        log(`PostgreSQL could not be started again: ${(error as Error).message}`)
      }
    }
  }

  const watching = watch()
  return {
    pid: () => current?.pid,
    stop: async () => {
      stopping.abort()
      current?.kill(FAST)
      await watching
    },
  }
}
