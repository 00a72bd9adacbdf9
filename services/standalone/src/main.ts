/**
 * `npm start`: the whole gateway in one process on embedded parts.
 */

import { commandFor, findServers } from '@gateway/probe/find-servers'
import { countBuffersWithHeap } from '@gateway/service/count-buffers-with-heap'
import { START_WITH } from '@gateway/service/own-command'
import { reportFatal } from '@gateway/service/report-fatal'
import { stopSignal } from '@gateway/service/stop-signal'
import { announceHints, announceReady } from './announce-ready.ts'
import { loadSettings } from './config.ts'
import { startStandalone } from './start.ts'
import { readCommandLine } from './usage.ts'
import { useBackend } from './use-backend.ts'

/** Looked for while the gateway starts; a server that has not answered by then is given this much longer. */
const LOOK_MS = 200

try {
  const { page, backend } = readCommandLine(process.argv.slice(2))
  if (page !== null) {
    process.stdout.write(page)
    process.exit(0)
  }
  const stopped = stopSignal()
  countBuffersWithHeap()
  const settings = loadSettings(process.env, backend)
  const isFirstUse = backend === null && settings.configPath === undefined
  const exceptPorts = [settings.edge.port, settings.healthPort]
  const found = isFirstUse ? findServers({ environment: process.env, exceptPorts }) : []
  const used =
    backend === null ? null : await useBackend(backend, settings, (line) => process.stdout.write(`${line}\n`))
  const running = used === null ? settings : { ...settings, configPath: used.configPath }
  await using gateway = await startStandalone(running)
  announceReady(gateway, running, used?.lanes ?? null)
  const servers = await Promise.race([found, new Promise<[]>((resolve) => setTimeout(() => resolve([]), LOOK_MS))])
  announceHints(servers.map((server) => ({ ...server, command: commandFor(server, START_WITH) })))
  await stopped
} catch (error) {
  reportFatal(error)
}
