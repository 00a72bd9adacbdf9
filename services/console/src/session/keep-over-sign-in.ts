/**
 * Work that is not to be lost when someone whose session has ended signs in again, for which the page is left: it waits in
 * the browser's storage with the state of that sign-in, and comes back to the same person only. The playground alone has any.
 */

let gatherWork: () => unknown = () => undefined
let brought: unknown

/** `read` gives the work to keep. Returns the kept work once the page is here again. */
export function keepOverSignIn(read: () => unknown): unknown {
  gatherWork = read
  return brought
}

export function gather(): unknown {
  return gatherWork()
}

export function bring(back: unknown): void {
  brought = back
}
