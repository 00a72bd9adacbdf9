/**
 * What every service's `start` answers: a running service that is disposed of to stop it in order.
 */

export interface RunningService extends AsyncDisposable {
  /** Whether it takes work now; false while it drains. */
  readonly ready: () => boolean
}

/** Ready until it is disposed of, which closes its parts. */
export function runUntilDisposed(parts: AsyncDisposableStack): RunningService {
  let stopping = false
  return {
    ready: () => !stopping,
    [Symbol.asyncDispose]() {
      stopping = true
      return parts.disposeAsync()
    },
  }
}
