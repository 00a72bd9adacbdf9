/**
 * NATS with JetStream on files.
 */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ContainerPlan } from './container.ts'
import { startLocalServer } from './local-server.ts'
import { runProgram } from './program.ts'
import type { Server, ServerOptions } from './server.ts'

/** It comes after JetStream is there. */
export const NATS_READY_LINE = /Server is ready/

export interface NatsOptions extends ServerOptions {
  /** The largest message it takes; the broker's own default of 1 MB unless said otherwise. */
  maxPayloadBytes?: number
  /** Users and their permissions, in the syntax of the server's configuration. When left out, anybody may do anything. */
  accounts?: string
}

export function startLocalNats(file: string, options: NatsOptions): Promise<Server> {
  return startLocalServer(
    {
      name: 'nats',
      stopSignal: 'SIGTERM',
      discardSignal: 'SIGKILL',
      url: (port) => `nats://127.0.0.1:${port}`,
      start: async ({ directory, port }) => {
        const config = join(directory, 'nats.conf')
        await writeFile(config, natsConfig(`127.0.0.1:${port}`, join(directory, 'jetstream'), options))
        return runProgram({
          file,
          args: ['-c', config],
          cwd: directory,
          readyLine: NATS_READY_LINE,
          log: options.log,
        })
      },
    },
    options,
  )
}

export function natsContainer(options: NatsOptions): ContainerPlan {
  const config = '/etc/gateway-nats.conf'
  return {
    image: 'nats:2.12-alpine',
    port: 4222,
    dataDirectory: '/data',
    command: ['-c', config],
    readyLine: NATS_READY_LINE,
    files: [{ target: config, content: natsConfig('0.0.0.0:4222', '/data', options) }],
    url: (hostAndPort) => `nats://${hostAndPort}`,
  }
}

function natsConfig(listen: string, storeDirectory: string, options: NatsOptions): string {
  const { maxPayloadBytes = 1_048_576, accounts = '' } = options
  return `listen: "${listen}"
max_payload: ${maxPayloadBytes}
jetstream { store_dir: ${JSON.stringify(storeDirectory)} }
${accounts}
`
}
