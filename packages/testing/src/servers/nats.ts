/**
 * NATS with JetStream on files, from a local `nats-server`.
 */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startLocalServer } from './local-server.ts'
import { runProgram } from './program.ts'
import type { Server, ServerOptions } from './server.ts'

export interface NatsOptions extends ServerOptions {
  /** The largest message it takes; the broker's own default of 1 MB unless said otherwise. */
  maxPayloadBytes?: number
}

export function startLocalNats(file: string, options: NatsOptions): Promise<Server> {
  return startLocalServer(
    {
      name: 'nats',
      stopSignal: 'SIGTERM',
      url: (port) => `nats://127.0.0.1:${port}`,
      start: async ({ directory, port }) => {
        const config = join(directory, 'nats.conf')
        await writeFile(config, natsConfig(port, join(directory, 'jetstream'), options.maxPayloadBytes ?? 1_048_576))
        return runProgram({
          file,
          args: ['-c', config],
          cwd: directory,
          port,
          serves: (greeting) => greeting.startsWith('INFO ') && greeting.includes('"jetstream":true'),
          log: options.log,
        })
      },
    },
    options,
  )
}

function natsConfig(port: number, storeDirectory: string, maxPayloadBytes: number): string {
  return `listen: "127.0.0.1:${port}"
max_payload: ${maxPayloadBytes}
jetstream { store_dir: ${JSON.stringify(storeDirectory)} }
`
}
