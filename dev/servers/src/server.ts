/**
 * A real server as a test holds it: its address, and the faults that the test may inject.
 */

export interface ServerOptions {
  /** Keeps the data here and leaves it there; without it, a temporary folder that goes with the server. */
  directory?: string
  port?: number
  /** Never a server named by the environment: for tests that kill it or need it to themselves. */
  own?: boolean
  log?(line: string): void
}

export interface Server extends AsyncDisposable {
  readonly url: string
  /** The running process; undefined while it is down, in a container, and for a server that is not ours. */
  readonly pid: number | undefined
  /** Sends a signal. With one that ends a process (SIGKILL unless said otherwise), resolves when it is gone. */
  kill(signal?: NodeJS.Signals): Promise<void>
  /** Ends it in its own orderly way and keeps its data and port for {@link restart}. */
  stop(): Promise<void>
  /** Starts it again on the same port and data; one that still runs is stopped first. */
  restart(): Promise<void>
}

/** Signals that a server goes on after. */
export const DOES_NOT_END_IT: readonly NodeJS.Signals[] = ['SIGSTOP', 'SIGCONT', 'SIGUSR1', 'SIGHUP']

/** A server that the environment names. Nothing but its URL is ours. */
export function foreignServer(url: string, variable: string): Server {
  const refuse = (): Promise<never> =>
    Promise.reject(new Error(`this server comes from ${variable} and is not ours to stop: ask for an own one`))
  return { url, pid: undefined, kill: refuse, stop: refuse, restart: refuse, [Symbol.asyncDispose]: async () => {} }
}
