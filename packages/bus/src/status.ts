/** What a service hears about its bus, to log it. */

export type BusStatus =
  /** The first connection is being tried; `error` is why the last try failed. */
  | { type: 'connecting'; error: unknown }
  | { type: 'connected'; server: string }
  | { type: 'disconnected' }
  | { type: 'reconnected'; server: string }
  /** This process stood still; its peers' silence during that time is not held against them. */
  | { type: 'pause'; stoodStillMs: number }
  /** Something that should not happen and that the bus went on after. */
  | { type: 'error'; error: unknown; during: string }

export type OnStatus = (status: BusStatus) => void
