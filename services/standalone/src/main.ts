/**
 * `npm start`: the whole gateway in one process on embedded parts.
 */

import { freePorts } from '@gateway/embedded-postgres/free-port'
import { commandFor, findServers } from '@gateway/probe/find-servers'
import { countBuffersWithHeap } from '@gateway/service/memory'
import { START_WITH } from '@gateway/local/own-command'
import { reportFatal } from '@gateway/service/report-fatal'
import { endOnSignal, stopSignal } from '@gateway/service/stop-signal'
import { announceHints, announceReady, announceStop } from './announce-ready.ts'
import { loadSettings } from './config.ts'
import { startStandalone } from './start.ts'
import { readCommandLine } from './usage.ts'
import { useBackend } from './use-backend.ts'

/** The search runs while the gateway starts. A server that has not responded by then gets this much longer. */
const LOOK_MS = 200

// The terminal may be gone, or its disk full. The gateway's clients are still there.
process.stdout.on('error', () => {})

try {
  const { page, backend } = readCommandLine(process.argv.slice(2))
  if (page !== null) {
    process.stdout.write(page)
    process.exit(0)
  }
  endOnSignal()
  countBuffersWithHeap()
  const environment = await withPorts(process.env)
  const settings = loadSettings(environment, backend)
  const isFirstUse = backend === null && settings.configPath === undefined
  const exceptPorts = [settings.edge.port, settings.healthPort]
  const found = isFirstUse ? findServers({ environment, exceptPorts }) : []
  const used =
    backend === null ? null : await useBackend(backend, settings, (line) => process.stdout.write(`${line}\n`))
  const running = used === null ? settings : { ...settings, configPath: used.configPath }
  await using gateway = await startStandalone(running)
  const stopped = stopSignal()
  announceReady(gateway, running, used?.lanes ?? null)
  const servers = await Promise.race([found, new Promise<[]>((resolve) => setTimeout(() => resolve([]), LOOK_MS))])
  announceHints(servers.map((server) => ({ ...server, command: commandFor(server, START_WITH) })))
  await stopped
  announceStop(gateway.inFlight(), running.edge.drainMs)
} catch (error) {
  reportFatal(error)
}

/** The gateway names its own address to consoles and issuers before it listens there. */
async function withPorts(environment: NodeJS.ProcessEnv): Promise<NodeJS.ProcessEnv> {
  if (environment['PORT'] !== '0') return environment
  const [port, healthPort] = await freePorts(2)
  return { ...environment, PORT: String(port), HEALTH_PORT: environment['HEALTH_PORT'] || String(healthPort) }
}
