/**
 * The floor: the cost of a reverse proxy in Node that does nothing but pass on.
 */

import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '@gateway/embedded-postgres/free-port'
import { BENCH_DATA } from '../harness/folders.ts'
import { runServer } from '../harness/program.ts'
import { CHAT_PATH, type Subject } from './subject.ts'

export const bareProxy: Subject = {
  name: 'bare Node proxy',
  prepare: async () => ({
    description: `node:http and undici's dispatch on Node ${process.version}; one process; no authentication, no limits, no metering`,
    async launch(backendPort, signal) {
      await mkdir(BENCH_DATA, { recursive: true })
      const port = await freePort()
      const server = await runServer(
        {
          file: process.execPath,
          args: [join(import.meta.dirname, 'bare-proxy-server.ts'), String(port), String(backendPort)],
          environment: process.env,
          logFile: join(BENCH_DATA, 'bare-proxy.log'),
          signal,
        },
        port,
      )
      return {
        endpoint: { ports: [port], path: CHAT_PATH, model: 'bench', headers: {} },
        processes: () => ({ proxy: server.pid }),
        [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
      }
    },
  }),
}
