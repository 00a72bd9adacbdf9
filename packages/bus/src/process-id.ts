/** A process's name on the bus: new at every start, safe in subjects. */

import { randomBytes } from 'node:crypto'

export function createProcessId(): string {
  return randomBytes(10).toString('hex')
}
