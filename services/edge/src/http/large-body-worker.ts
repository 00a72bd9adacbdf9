/**
 * The thread that reads large bodies: one after another, each answered by one message.
 */

import { parentPort } from 'node:worker_threads'
import type { ReadingConfig } from '../inference/requests/pack-request.ts'
import { readLarge, type Read, type Reading } from './read-large.ts'

let config: ReadingConfig = { models: [], windows: new Map() }

parentPort!.on('message', ({ wanted, bytes, config: changed }: Reading) => {
  config = changed ?? config
  const read = readLarge(wanted, bytes, config)
  parentPort!.postMessage(read, transferable(read))
})

function transferable(read: Read): ArrayBuffer[] {
  if (!('packed' in read)) return []
  const { buffer, byteLength } = read.packed.asked.body
  // A small one may share its buffer with others.
  return buffer.byteLength === byteLength ? [buffer as ArrayBuffer] : []
}
