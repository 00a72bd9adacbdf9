/**
 * A server with copies on other hosts, behind an address that follows its primary.
 */

export interface Replicated extends AsyncDisposable {
  /** The URL in the gateway's environment. */
  readonly url: string
  /** The host of the primary, or of the durable stream's leader. */
  primary(): Promise<string>
  /** The primary is off the network: a copy takes its place. */
  promote(): Promise<void>
  /** The former primary is back, and becomes a copy. */
  rejoin(): Promise<void>
  /** Resolves when every copy has all that the primary has. */
  caughtUp(): Promise<void>
}

/** It reads the time from libc. */
export interface Clocked extends Replicated {
  /** Sets the clock of the primary; resolves when it goes by this time. */
  setClock(wrongByMs: number): Promise<void>
}
