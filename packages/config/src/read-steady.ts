/**
 * Reads a file that somebody else may be writing: looks until two looks, some time apart, find the same file.
 *
 * A file that is rewritten in place is cut for a while, and a cut file can be valid. The writer takes a part away first
 * of all, so a file that has become shorter is given a longer time.
 */

import { readFile, stat } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

const STEADY_MS = 100
const SHRUNK_STEADY_MS = 1_000

interface Known {
  /** As the file was last read. Nothing has to be steady while it is the same. */
  lastRead: string
  /** As the file was when it was taken up. */
  running: string
}

/** Resolves with undefined once it is not wanted any more; rejects when the file cannot be read. */
export async function readSteady(path: string, known: Known, signal: AbortSignal): Promise<string | undefined> {
  let last = await look(path)
  while (last.text !== known.lastRead && !signal.aborted) {
    const steadyMs = last.text.length < known.running.length ? SHRUNK_STEADY_MS : STEADY_MS
    await sleep(steadyMs, undefined, { signal }).catch(() => {})
    const next = await look(path)
    if (next.text === last.text && next.written === last.written) return next.text
    last = next
  }
  return signal.aborted ? undefined : last.text
}

interface Look {
  text: string
  /** Changes with every writing, also one that leaves the same text. */
  written: string
}

async function look(path: string): Promise<Look> {
  const text = await readFile(path, 'utf8')
  const { dev, ino, size, mtimeNs } = await stat(path, { bigint: true })
  return { text, written: `${dev}.${ino}.${size}.${mtimeNs}` }
}
