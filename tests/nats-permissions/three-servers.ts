/**
 * The three NATS servers of the compose file as processes on this machine: its configuration and its users, with ports and
 * folders of their own.
 */

import { readFileSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { freePorts } from '@gateway/embedded-postgres/free-port'
import { findProgram } from '@gateway/servers/find-program'
import { type Running, startLocalServer } from '@gateway/servers/local-server'
import { NATS_READY_LINE } from '@gateway/servers/nats'
import { runProgram } from '@gateway/servers/program'
import type { Server } from '@gateway/servers/start'
import { mkdir, writeFile } from 'node:fs/promises'
import { accounts } from './users.ts'

const SIZE = 3
const ROUTE_PASSWORD = 'k0ffee'
const conf = readFileSync(new URL('../../deploy/compose/nats.conf', import.meta.url), 'utf8')

export interface NatsCluster extends AsyncDisposable {
  /** All servers, separated by commas. */
  readonly url: string
  readonly servers: Server[]
}

export async function startThreeServers(dataDir: string): Promise<NatsCluster> {
  await using starting = new AsyncDisposableStack()
  const ports = await freePorts(2 * SIZE)
  const routePorts = ports.slice(SIZE)
  const servers = await Promise.all(
    Array.from({ length: SIZE }, async (_, index) => {
      const directory = join(dataDir, `nats-${index + 1}`)
      await mkdir(directory, { recursive: true })
      const config = configOf(index, ports[index]!, routePorts, directory)
      return starting.use(await startServer(config, directory, ports[index]!))
    }),
  )
  const started = starting.move()
  return { url: servers.map(({ url }) => url).join(','), servers, [Symbol.asyncDispose]: () => started.disposeAsync() }
}

function startServer(config: string, directory: string, port: number): Promise<Server> {
  return startLocalServer(
    {
      name: 'nats',
      stopSignal: 'SIGTERM',
      discardSignal: 'SIGKILL',
      url: (bound) => `nats://127.0.0.1:${bound}`,
      async start(): Promise<Running> {
        const file = join(directory, 'nats.conf')
        await writeFile(file, config)
        const args = ['-c', file]
        return runProgram({ file: findProgram('nats-server')!, args, cwd: directory, readyLine: NATS_READY_LINE })
      },
    },
    { directory, port },
  )
}

/** As in the containers, except for the values that differ between processes of one machine. */
function configOf(index: number, port: number, routePorts: number[], directory: string): string {
  const values: Record<string, string> = {
    NATS_NAME: `nats-${index + 1}`,
    NATS_ROUTE_PASSWORD: ROUTE_PASSWORD,
    ...Object.fromEntries(
      routePorts.map((routePort, other) => [
        `NATS_ROUTE_${other + 1}`,
        `nats://route:${ROUTE_PASSWORD}@127.0.0.1:${routePort}`,
      ]),
    ),
  }
  const text = conf
    .replace('listen: 0.0.0.0:4222', `listen: 127.0.0.1:${port}`)
    .replace('listen: 0.0.0.0:6222', `listen: 127.0.0.1:${routePorts[index]}`)
    .replace('http: 127.0.0.1:8222', '')
    .replace('store_dir: /data', `store_dir: ${JSON.stringify(join(directory, 'data'))}`)
    .replace('include nats-users.conf', accounts)
    .replaceAll(/\$(NATS_\w+)/g, (_, name: string) => JSON.stringify(values[name]))
  return knowsSyncInterval() ? text : text.replace(/^ *sync_interval: .*\n/m, '')
}

/** Debian's nats-server 2.9 does not. */
function knowsSyncInterval(): boolean {
  const version = execFileSync(findProgram('nats-server')!, ['--version'], { encoding: 'utf8' })
  return Number(/v2\.(\d+)/.exec(version)?.[1]) >= 11
}
