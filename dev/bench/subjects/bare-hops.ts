/**
 * The floor of this gateway's shape: a response's way through two processes and the broker between them, without any work on it. One
 * request is one message to a router, one request to the backend, and one durable record.
 */

import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '@gateway/embedded-postgres/free-port'
import { startNats } from '@gateway/servers/start'
import { BENCH_DATA } from '../harness/folders.ts'
import { runServer } from '../harness/program.ts'
import { CHAT_PATH, type Launched, type Subject } from './subject.ts'

export const bareHops: Subject = {
  name: 'bare hops',
  prepare: async () => ({
    description:
      "node:http, undici's dispatch and NATS' client in two processes, with NATS and a durable record per request; pieces gather for " +
      '5 ms as in the gateway; no authentication, no limits, no metering, no failover, no flow control',
    launch: (backendPort, signal) => launch(backendPort, signal),
  }),
}

async function launch(backendPort: number, signal: AbortSignal): Promise<Launched> {
  await using opening = new AsyncDisposableStack()
  await mkdir(BENCH_DATA, { recursive: true })
  const folder = await mkdtemp(join(BENCH_DATA, 'bare-hops-'))
  opening.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  const nats = opening.use(await startNats({ own: true, directory: join(folder, 'nats') }))
  const run = async (name: string, ...args: string[]) => {
    const port = await freePort()
    const file = join(import.meta.dirname, 'bare-hops', `${name}.ts`)
    const command = { file: process.execPath, args: [file, String(port), ...args], environment: process.env, signal }
    const { pid } = opening.use(
      await runServer({ ...command, logFile: join(BENCH_DATA, `bare-hops-${name}.log`) }, port),
    )
    return { port, pid }
  }
  const router = await run('router', nats.url, String(backendPort))
  const edge = await run('edge', nats.url)
  const opened = opening.move()
  return {
    endpoint: { ports: [edge.port], path: CHAT_PATH, model: 'bench', headers: {} },
    processes: () => ({ edge: edge.pid, router: router.pid, nats: nats.pid! }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
