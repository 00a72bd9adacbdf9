/**
 * Deterministic numbers from a text, and a small memory for results that are costly to make from one.
 */

/** FNV-1a, 32 bits. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash >>> 0
}

/** A generator of numbers in [0, 1) that always gives the same ones for a seed (xorshift32). */
export function randomFrom(seed: string): () => number {
  let state = hashOf(seed) || 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 0x1_0000_0000
  }
}

/** Remembers the last `size` results. Concurrent calls with the same key share one result. */
export function remember<K, T>(size: number, make: (key: K) => T): (key: K) => T {
  const known = new Map<K, T>()
  return (key) => {
    const found = known.get(key)
    if (found !== undefined) return found
    const made = make(key)
    known.set(key, made)
    if (known.size > size) known.delete(known.keys().next().value!)
    return made
  }
}
