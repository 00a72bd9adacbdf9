/**
 * The subject of a measurement: a server of chat completions in front of the backend.
 */

import type { Endpoint } from '../harness/load.ts'

export interface Subject {
  name: string
  /** Installs the missing programs in a folder of its own. Throws when it cannot be had here; the words go into the table. */
  prepare(signal: AbortSignal): Promise<Prepared>
}

export interface Prepared {
  /** The version, the settings, and which of authentication, limits, quota and metering are on. */
  description: string
  /** A fresh start, in front of the backend on this port. */
  launch(backendPort: number, signal: AbortSignal): Promise<Launched>
}

export interface Launched extends AsyncDisposable {
  endpoint: Endpoint
  /** The processes whose cost counts, by name. */
  processes(): Record<string, number>
}

export const CHAT_PATH = '/v1/chat/completions'
