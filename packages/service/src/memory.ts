/**
 * The memory of this process: how much there is, and when buffers make V8 collect its heap.
 */

import { totalmem } from 'node:os'
import { setFlagsFromString } from 'node:v8'

/** The memory of the container, or else of the machine. */
export function memoryBytes(): number {
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}

/**
 * Buffers lie outside of the heap. Whenever they have grown by 64 MB, V8 13.6 and 14.6 collect the whole heap. With prompts of
 * 1 MB, half of the gateway's time went there. With this flag their limit follows the live memory, and the heap's greatest size
 * bounds it, as it bounds the heap. Returns false where V8 is another one, which may not know the flag.
 */
export function countBuffersWithHeap(): boolean {
  const isKnown = /^1[34]\.6\./.test(process.versions.v8)
  // V8 complains on stderr of a flag that it does not know.
  if (isKnown) setFlagsFromString('--external-memory-accounted-in-global-limit')
  return isKnown
}
