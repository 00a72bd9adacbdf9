/**
 * Keeps unsaved work over the sign-in after a session has ended, since that sign-in leaves the page. The work waits in the
 * browser's storage with the state of the sign-in. Only the same person gets it back. The playground alone has such work.
 */

let readWork: () => unknown = () => undefined
let restored: unknown

/** `read` returns the work to keep. Returns the work that the last sign-in brought back. */
export function keepOverSignIn(read: () => unknown): unknown {
  readWork = read
  return restored
}

export function collectWork(): unknown {
  return readWork()
}

export function restoreWork(work: unknown): void {
  restored = work
}
