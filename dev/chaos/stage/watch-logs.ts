/**
 * Reads the edges' logs as they grow, for the facts that a verdict needs: the times when an edge decided without the
 * store.
 *
 * By this process' own clock, because theirs may be wrong.
 */

import { open } from 'node:fs/promises'

const LOOK_EVERY_MS = 100
const ALONE = 'this edge decides alone'

/** An edge found the admission store away and decided by itself. */
export interface Alone {
  /** 0 or 1. */
  edge: number
  atMs: number
}

export interface LogWatch extends AsyncDisposable {
  readonly alone: readonly Alone[]
}

/** `paths`: each edge's, in their order. */
export function watchLogs(paths: readonly string[]): LogWatch {
  const alone: Alone[] = []
  const places = paths.map((path, edge) => ({ path, edge, from: 0 }))
  const over = new AbortController()

  async function look(): Promise<void> {
    for (const place of places) {
      const text = await readFrom(place.path, place.from)
      const complete = text.slice(0, text.lastIndexOf('\n') + 1)
      place.from += Buffer.byteLength(complete)
      for (const line of complete.split('\n')) {
        if (line.includes(ALONE)) alone.push({ edge: place.edge, atMs: Date.now() })
      }
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
    alone,
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
