/**
 * Records the findings of a run for the page that it writes: one JSON line for each finding.
 */

import { appendFileSync } from 'node:fs'

export function note(finding: object): void {
  const file = process.env['BACKENDS_EVIDENCE']
  if (file) appendFileSync(file, `${JSON.stringify(finding)}\n`)
}
