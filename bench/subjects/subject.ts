/**
 * What is measured: something that answers chat completions in front of the backend.
 */

import type { Door } from '../harness/load.ts'

export interface Launched extends AsyncDisposable {
  door: Door
  /** The processes whose cost counts, by name. */
  processes(): Record<string, number>
}

export interface Subject {
  name: string
  /** For the table: version, what is switched on, how it was started. */
  describe(): Promise<string>
  /** A fresh start, in front of the backend on this port. */
  launch(backendPort: number): Promise<Launched>
}
