/**
 * The thread that reads large bodies, one after another. It sends one message for each.
 *
 * It gives way to the event loop where both have one core, as a container of one core has.
 */

import { getPriority, setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import type { ReadingConfig } from './pack-request.ts'
import type { Done, Read, Reading } from './read-large.ts'

/** Beside a busy thread it has a quarter of a core. */
const NICER = 5
const NICEST = 19

// Linux knows a priority of each thread; elsewhere it would hold for the whole process.
if (process.platform === 'linux') setPriority(Math.min(NICEST, getPriority() + NICER))

// Behind that: these modules take most of the thread's start.
const { readLarge } = await import('./read-large.ts')

let config: ReadingConfig = { models: [], windows: new Map() }

parentPort!.on('message', ({ wanted, bytes, config: changed }: Reading) => {
  config = changed ?? config
  const before = process.threadCpuUsage()
  const read = readLarge(wanted, bytes, config)
  const { user, system } = process.threadCpuUsage(before)
  const done: Done = { read, tookMs: (user + system) / 1_000 }
  parentPort!.postMessage(done, transferable(read))
})

function transferable(read: Read): ArrayBuffer[] {
  if (!('packed' in read)) return []
  const { buffer, byteLength } = read.packed.inference.body
  // A small one may share its buffer with others.
  return buffer.byteLength === byteLength ? [buffer as ArrayBuffer] : []
}
