/**
 * A process's name on the bus: new at every start, safe in subjects, and at its front who it is (`edge.<random>`), so
 * that a broker's permissions can tell one service's inboxes from another's.
 */

import { randomBytes } from 'node:crypto'

export function createProcessId(name?: string): string {
  const random = randomBytes(10).toString('hex')
  return name === undefined ? random : `${name.toLowerCase().replaceAll(/[^a-z0-9-]+/g, '-')}.${random}`
}
