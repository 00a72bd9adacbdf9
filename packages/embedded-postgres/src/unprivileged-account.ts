/**
 * PostgreSQL refuses to run as root. When we are root, its processes run as an account without rights.
 */

import { readFileSync } from 'node:fs'

export interface Account {
  uid: number
  gid: number
}

/** Accounts that exist on common systems, best first. It must be a named one: `initdb` looks its name up. */
const CANDIDATES = ['postgres', 'nobody']

/** The account for PostgreSQL's processes, or null when this process is not root and can run it as itself. */
export function unprivilegedAccount(): Account | null {
  if (process.getuid?.() !== 0) return null
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  for (const name of CANDIDATES) {
    const fields = lines.find((line) => line.startsWith(`${name}:`))?.split(':')
    if (fields) return { uid: Number(fields[2]), gid: Number(fields[3]) }
  }
  throw new Error(
    `PostgreSQL cannot run as root, and this system has none of the accounts ${CANDIDATES.join(', ')}: run as another user`,
  )
}
