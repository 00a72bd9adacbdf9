/**
 * The backend of every measurement (`native/backend.c`): one process, whose own log counts its requests.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { dieWithParent } from '@gateway/embedded-postgres/die-with-parent'
import { isFree } from '@gateway/embedded-postgres/free-port'
import { UsageError } from '@gateway/service/report-fatal'
import * as z from 'zod'

const counts = z.object({
  plain: z.number(),
  streamsEnded: z.number(),
  streamsCut: z.number(),
  chunks: z.number(),
  running: z.number(),
  /** Its own lateness with its chunks since the last call, in milliseconds. */
  lateness: z.object({ p50: z.number().default(0), p99: z.number().default(0), max: z.number().default(0) }),
})

export interface Backend extends AsyncDisposable {
  readonly port: number
  readonly pid: number
  counts(): Promise<z.infer<typeof counts>>
}

/** `wantedPort`: the one that a peer's configuration names; by default, any free one. */
export async function startBackend(program: string, wantedPort = 0): Promise<Backend> {
  if (wantedPort !== 0 && !(await isFree(wantedPort)))
    throw new UsageError(`Port ${wantedPort} is taken: name a free one for the bench's backend with --backend-port`)
  const child = spawn(program, [String(wantedPort)], { stdio: ['ignore', 'pipe', 'inherit'] })
  dieWithParent(child)
  const lines = createInterface({ input: child.stdout })
  const nextLine = async () => {
    const [line] = (await once(lines, 'line', { signal: AbortSignal.timeout(5_000) })) as [string]
    return JSON.parse(line) as unknown
  }
  const { port } = z.object({ port: z.number() }).parse(await nextLine())
  return {
    port,
    pid: child.pid!,
    async counts() {
      const line = nextLine()
      child.kill('SIGUSR1')
      return counts.parse(await line)
    },
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}
