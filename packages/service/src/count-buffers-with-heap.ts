/**
 * Buffers lie outside of the heap. Whenever they have grown by 64 MB, V8 13.6 collects the whole heap: with prompts of
 * 1 MB, a third of a router's time went there. With this flag their limit follows the live memory, and the heap's
 * greatest size bounds it, as it bounds the heap. Later versions of V8 do so by themselves.
 */

import { setFlagsFromString } from 'node:v8'

export function countBuffersWithHeap(): void {
  // Another version would complain on stderr that it does not know the flag.
  if (process.versions.v8.startsWith('13.6.')) setFlagsFromString('--external-memory-accounted-in-global-limit')
}
