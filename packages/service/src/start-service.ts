/**
 * The result of every service's `start`: a running service, which stops in order when disposed.
 */

export interface RunningService extends AsyncDisposable {
  /** True: the service takes work; false while it drains. */
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
