/**
 * Redis with an append-only file.
 */

import type { ContainerPlan } from './container.ts'
import { startLocalServer } from './local-server.ts'
import { runProgram } from './program.ts'
import type { Server, ServerOptions } from './server.ts'

/** It comes after Redis has read its file. */
const READY_LINE = /Ready to accept connections/

interface RedisCommand {
  /** Settings beside the usual ones. */
  more?(port: number): Readonly<Record<string, string>>
  /** The words before the command, which put it somewhere. */
  launcher?: readonly string[]
}

export function startLocalRedis(
  file: string,
  options: ServerOptions,
  { more = () => ({}), launcher = [] }: RedisCommand = {},
): Promise<Server> {
  return startLocalServer(
    {
      name: 'redis',
      stopSignal: 'SIGTERM',
      discardSignal: 'SIGKILL',
      url: (port) => `redis://127.0.0.1:${port}`,
      start: ({ directory, port }) => {
        const place = ['--bind', '127.0.0.1', '--port', String(port), '--dir', directory]
        const settings = Object.entries(more(port)).flatMap(([name, words]) => [`--${name}`, ...words.split(' ')])
        const [program, ...args] = [...launcher, file, ...place, '--appendonly', 'yes', '--save', '', ...settings]
        return runProgram({
          file: program!,
          args,
          cwd: directory,
          readyLine: READY_LINE,
          log: options.log,
        })
      },
    },
    options,
  )
}

export const redisContainer: ContainerPlan = {
  image: 'redis:8-alpine',
  port: 6379,
  dataDirectory: '/data',
  // Reached through the engine's network, which the protected mode would refuse.
  command: ['redis-server', '--protected-mode', 'no', '--appendonly', 'yes', '--save', ''],
  readyLine: READY_LINE,
  url: (hostAndPort) => `redis://${hostAndPort}`,
}
