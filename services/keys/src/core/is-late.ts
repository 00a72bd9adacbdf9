/**
 * Whether a rotation or revocation comes too late: its caller may have been refused long ago, and a mint has returned the
 * key since.
 *
 * An edge asks for a ticket first, and names it when it ends the key. A mint that returns the key voids the ticket. No
 * clock decides, however long a message was on its way.
 */

import type { OwnKey } from '../db/keys.ts'

/** A former edge names no ticket. */
export function isLate(key: Pick<OwnKey, 'status' | 'ticket'>, ticket: string | undefined): boolean {
  return key.status === 'active' && ticket !== undefined && key.ticket !== ticket
}
