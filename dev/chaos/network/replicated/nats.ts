/**
 * Three NATS servers, each on a host of its own, which keep three copies of the durable stream.
 */

import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { usageStream } from '@gateway/contracts/subjects'
import { freePorts } from '@gateway/embedded-postgres/free-port'
import { findProgram } from '@gateway/servers/find-program'
import { startLocalServer } from '@gateway/servers/local-server'
import { NATS_READY_LINE } from '@gateway/servers/nats'
import { runProgram } from '@gateway/servers/program'
import type { Server } from '@gateway/servers/start'
import { UsageError } from '@gateway/service/report-fatal'
import { requestJetStream } from '@gateway/testing/call-jetstream'
import { SERVER_HOSTS, type ServerHost } from '../../plan/places.ts'
import type { Hosts } from '../hosts.ts'
import type { Disks } from './host-disk.ts'
import { programOn } from './program-on.ts'
import type { Replicated } from './replicated.ts'

const LOOK_EVERY_MS = 100

/** 2.9.10 lost two of three copies of a stream when the host of its leader came back: `stream not found`. */
const LEAST_MINOR_VERSION = 11
const BUILD = 'GOBIN=<folder> go install github.com/nats-io/nats-server/v2@v2.15.2'

interface StreamInfo {
  cluster: { leader: string; replicas: { name: string; current: boolean; offline?: boolean }[] }
}

export async function openNats(hosts: Hosts, disks: Disks): Promise<Replicated> {
  await using opening = new AsyncDisposableStack()
  const file = findProgram('nats-server') ?? ''
  requirePresent(file)
  const ports = await freePorts(2 * SERVER_HOSTS.nats.length)
  const routePorts = ports.slice(SERVER_HOSTS.nats.length)
  for (const [index, host] of SERVER_HOSTS.nats.entries()) {
    for (const port of [ports[index]!, routePorts[index]!]) await hosts.serve(host, port)
  }
  const routes = routePorts.map((port) => `nats-route://127.0.0.1:${port}`)
  const start = async (host: ServerHost, port: number, routePort: number): Promise<Server> => {
    const directory = disks[host].folder
    const config = join(directory, 'nats.conf')
    await writeFile(config, configOf({ host, port, routePort, routes, directory }))
    const program = programOn(hosts, host, file, ['-c', config])
    const plan = {
      name: host,
      stopSignal: 'SIGTERM',
      discardSignal: 'SIGKILL',
      url: () => `nats://127.0.0.1:${port}`,
      start: () => runProgram({ ...program, cwd: directory, readyLine: NATS_READY_LINE }),
    } as const
    return opening.use(await startLocalServer(plan, { directory, port }))
  }
  const servers = await Promise.all(
    SERVER_HOSTS.nats.map((host, index) => start(host, ports[index]!, routePorts[index]!)),
  )
  const url = servers.map((server) => server.url).join(',')
  const requestStream = () => requestJetStream<StreamInfo>(url, `STREAM.INFO.${usageStream.name}`)

  const opened = opening.move()
  return {
    url,
    primary: async () => (await requestStream()).cluster.leader,
    // The others elect a leader among them.
    promote: async () => {},
    rejoin: async () => {},
    async caughtUp() {
      for (;;) {
        const info = await requestStream().catch(() => null)
        const copies = info?.cluster.replicas ?? []
        if (copies.length === 2 && copies.every(({ current, offline }) => current && !offline)) return
        await sleep(LOOK_EVERY_MS)
      }
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

function requirePresent(file: string): void {
  const version = file && execFileSync(file, ['--version'], { encoding: 'utf8' })
  if (Number(/v2\.(\d+)/.exec(version)?.[1]) >= LEAST_MINOR_VERSION) return
  const wanted = `--replicated needs nats-server 2.${LEAST_MINOR_VERSION} or later`
  throw new UsageError(`${wanted} at the beginning of PATH, not ${version.trim() || 'none'}: ${BUILD}`)
}

interface Place {
  host: string
  port: number
  routePort: number
  routes: string[]
  directory: string
}

/** Clients keep to the addresses that they were given: a server's own is another host's there. */
function configOf({ host, port, routePort, routes, directory }: Place): string {
  return `server_name: ${host}
listen: "127.0.0.1:${port}"
jetstream { store_dir: ${JSON.stringify(join(directory, 'data'))}, sync_interval: always }
cluster {
  name: chaos
  listen: "127.0.0.1:${routePort}"
  no_advertise: true
  routes: ${JSON.stringify(routes)}
}
`
}
