/**
 * The memory that this process may use.
 */

import { totalmem } from 'node:os'

/** The memory of the container, or else of the machine. */
export function memoryBytes(): number {
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}
