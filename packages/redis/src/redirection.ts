/**
 * What a node of a Redis Cluster says instead of running a script: the slot has moved, is on its way, or is nobody's.
 */

export type Redirection =
  /** For good. */
  | { kind: 'moved'; node: string }
  /** For this call: the keys have gone ahead of their slot. */
  | { kind: 'ask'; node: string }
  /** Some of the keys have gone ahead: soon they are together again. */
  | { kind: 'soon' }
  /** No node serves the slot. */
  | { kind: 'nobody' }

/** Undefined where the call failed for another reason. `error`: as the connection rejects, its cause being the node's. */
export function redirectionIn(error: unknown): Redirection | undefined {
  const cause = error instanceof Error ? error.cause : undefined
  if (!(cause instanceof Error)) return undefined
  const [code, , node] = cause.message.split(' ')
  switch (code) {
    // `MOVED 3999 127.0.0.1:6381`
    case 'MOVED':
      return node ? { kind: 'moved', node } : undefined
    case 'ASK':
      return node ? { kind: 'ask', node } : undefined
    case 'TRYAGAIN':
      return { kind: 'soon' }
    case 'CLUSTERDOWN':
      return { kind: 'nobody' }
    default:
      return undefined
  }
}
