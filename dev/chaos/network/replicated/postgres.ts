/**
 * PostgreSQL with a synchronous standby: a commit is confirmed when both have it. The run promotes the standby, ends
 * the former primary before it is back, and makes it a standby from a new copy.
 */

import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePorts } from '@gateway/embedded-postgres/free-port'
import { openDatabase } from '@gateway/postgres/database'
import { findPostgres } from '@gateway/servers/find-program'
import { startLocalServer } from '@gateway/servers/local-server'
import { runProgram } from '@gateway/servers/program'
import type { Server } from '@gateway/servers/start'
import { SERVER_HOSTS, type ServerHost } from '../../plan/places.ts'
import type { Hosts } from '../hosts.ts'
import type { Disks } from './host-disk.ts'
import { programOn } from './program-on.ts'
import type { Clocked } from './replicated.ts'
import { openServerClock, type ServerClock } from './server-clock.ts'

const run = promisify(execFile)
const USER = 'gateway'
const LOOK_EVERY_MS = 100
/** PostgreSQL refuses to run as root. */
const UNPRIVILEGED = ['setpriv', '--reuid', 'postgres', '--regid', 'postgres', '--clear-groups']
const BIN = findPostgres() ?? ''
const SETTINGS = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'wal_retrieve_retry_interval=500ms',
].flatMap((setting) => ['-c', setting])

const READY_LINE = /ready to accept (read-only )?connections/

export async function openPostgres(hosts: Hosts, folder: string, disks: Disks): Promise<Clocked> {
  await using opening = new AsyncDisposableStack()
  const [address = 0, ...ports] = await freePorts(1 + SERVER_HOSTS.postgres.length)
  let primary = 0

  const start = (index: number, host: ServerHost, { launcher }: ServerClock): Promise<Server> => {
    const port = ports[index]!
    const plan = {
      name: host,
      // Nobody reads its data again.
      stopSignal: 'SIGQUIT',
      discardSignal: 'SIGQUIT',
      url: () => urlOf(port),
      // Each incarnation of a server begins with new data: the first makes a database, a later one copies the primary's.
      async start({ directory }: { directory: string }) {
        const data = await makeEmpty(join(directory, 'data'))
        await (index === primary ? initialize(data) : copyFrom(ports[primary]!, data))
        const words = [...launcher, join(BIN, 'postgres'), '-D', data, '-p', String(port), ...SETTINGS]
        const program = programOn(hosts, host, UNPRIVILEGED[0]!, [...UNPRIVILEGED.slice(1), ...words])
        return runProgram({ ...program, cwd: '/', readyLine: READY_LINE })
      },
    } as const
    return startLocalServer(plan, { directory: disks[host].folder, port })
  }
  const notify = async (statement: string, index = primary): Promise<unknown[]> => {
    await using database = await openDatabase(urlOf(ports[index]!), { poolSize: 1 })
    return (await database.query(statement)).rows
  }
  const readClockMs = async (index: number): Promise<number> => {
    const [row] = await notify('select extract(epoch from clock_timestamp())::float8 * 1000 as "atMs"', index)
    return (row as { atMs: number }).atMs
  }
  /** Commits wait for the standby from now on, or for nobody. */
  const waitFor = async (standby: '*' | ''): Promise<void> => {
    await notify(`alter system set synchronous_standby_names = '${standby}'`)
    await notify('select pg_reload_conf()')
  }
  const caughtUp = async (): Promise<void> => {
    while ((await notify(`select from pg_stat_replication where sync_state = 'sync'`)).length === 0)
      await sleep(LOOK_EVERY_MS)
  }
  const lead = () => hosts.serve(SERVER_HOSTS.postgres[primary]!, address, { at: ports[primary]! })

  const servers: Server[] = []
  const clocks: ServerClock[] = []
  for (const [index, host] of SERVER_HOSTS.postgres.entries()) {
    await hosts.serve(host, ports[index]!)
    const clock = await openServerClock(join(folder, `${host}.clock`), () => readClockMs(index))
    clocks.push(clock)
    servers.push(opening.use(await start(index, host, clock)))
  }
  await waitFor('*')
  await caughtUp()
  await lead()

  const opened = opening.move()
  return {
    url: urlOf(address),
    primary: async () => SERVER_HOSTS.postgres[primary]!,
    async promote() {
      // Nobody may commit there any more.
      await servers[primary]!.kill('SIGKILL')
      primary = 1 - primary
      await notify('select pg_promote()')
      await waitFor('')
      await lead()
    },
    async rejoin() {
      await servers[1 - primary]!.restart()
      await waitFor('*')
    },
    caughtUp,
    setClock: (wrongByMs) => clocks[primary]!.set(wrongByMs),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

const urlOf = (port: number): string => `postgres://${USER}@127.0.0.1:${port}/postgres`

async function makeEmpty(data: string): Promise<string> {
  await rm(data, { recursive: true, force: true })
  await run('install', ['-d', '-m', '700', '-o', 'postgres', '-g', 'postgres', data])
  return data
}

function initialize(data: string): Promise<unknown> {
  const args = ['--username', USER, '--auth', 'trust', '--encoding', 'UTF8', '--locale', 'C']
  return runOn(data, 'initdb', ...args)
}

function copyFrom(port: number, data: string): Promise<unknown> {
  const from = ['-h', '127.0.0.1', '-p', String(port), '-U', USER]
  return runOn(data, 'pg_basebackup', ...from, '--write-recovery-conf', '--checkpoint', 'fast')
}

function runOn(data: string, program: string, ...args: string[]): Promise<unknown> {
  const words = [...UNPRIVILEGED.slice(1), join(BIN, program), '-D', data, ...args]
  return run(UNPRIVILEGED[0]!, words, { cwd: '/' })
}
