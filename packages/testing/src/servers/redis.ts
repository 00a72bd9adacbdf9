/**
 * Redis with an append-only file, from a local `redis-server`.
 */

import { startLocalServer } from './local-server.ts'
import { runProgram } from './program.ts'
import type { Server, ServerOptions } from './server.ts'

export function startLocalRedis(file: string, options: ServerOptions): Promise<Server> {
  return startLocalServer(
    {
      name: 'redis',
      stopSignal: 'SIGTERM',
      url: (port) => `redis://127.0.0.1:${port}`,
      start: ({ directory, port }) =>
        runProgram({
          file,
          args: [
            '--bind',
            '127.0.0.1',
            '--port',
            String(port),
            '--dir',
            directory,
            '--appendonly',
            'yes',
            '--save',
            '',
          ],
          cwd: directory,
          port,
          greet: 'PING\r\n',
          // `-LOADING` while it still reads its file.
          serves: (answer) => answer.startsWith('+PONG'),
          log: options.log,
        }),
    },
    options,
  )
}
