/**
 * Reads the edges' logs as they grow, for what a verdict must know of: when an edge decided without the store.
 *
 * By this process' own clock, because theirs may be wrong.
 */

import { open } from 'node:fs/promises'

const LOOK_EVERY_MS = 100
const ALONE = 'this edge decides alone'

export interface LogWatch extends AsyncDisposable {
  readonly aloneAtMs: readonly number[]
}

export function watchLogs(paths: readonly string[]): LogWatch {
  const aloneAtMs: number[] = []
  const places = new Map(paths.map((path) => [path, 0]))
  const over = new AbortController()

  async function look(): Promise<void> {
    for (const [path, from] of places) {
      const text = await readFrom(path, from)
      const complete = text.slice(0, text.lastIndexOf('\n') + 1)
      places.set(path, from + Buffer.byteLength(complete))
      for (const line of complete.split('\n')) if (line.includes(ALONE)) aloneAtMs.push(Date.now())
    }
  }

  async function watch(): Promise<void> {
    while (!over.signal.aborted) {
      await look()
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
    }
  }

  const watching = watch()
  return {
    aloneAtMs,
    async [Symbol.asyncDispose]() {
      over.abort()
      await watching
    },
  }
}

async function readFrom(path: string, from: number): Promise<string> {
  await using file = await open(path, 'r')
  const { size } = await file.stat()
  const bytes = Buffer.alloc(Math.max(0, size - from))
  await file.read(bytes, 0, bytes.length, from)
  return bytes.toString()
}
