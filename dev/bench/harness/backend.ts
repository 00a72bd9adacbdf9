/**
 * The backend of every measurement (`native/backend.c`): one process, whose own log counts what it was asked.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { dieWithParent } from '@gateway/embedded-postgres/die-with-parent'
import * as z from 'zod'

const counts = z.object({
  plain: z.number(),
  streamsEnded: z.number(),
  streamsCut: z.number(),
  chunks: z.number(),
  running: z.number(),
  /** How late it was itself with its chunks since it was last asked, in milliseconds. */
  lateness: z.object({ p50: z.number().default(0), p99: z.number().default(0), max: z.number().default(0) }),
})

export interface Backend extends AsyncDisposable {
  readonly port: number
  readonly pid: number
  counts(): Promise<z.infer<typeof counts>>
}

export async function startBackend(program: string): Promise<Backend> {
  const child = spawn(program, { stdio: ['ignore', 'pipe', 'inherit'] })
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
      const answer = nextLine()
      child.kill('SIGUSR1')
      return counts.parse(await answer)
    },
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}
