/**
 * Counts the responses that kills take from the ledger. A run of the chaos suite in a process of its own kills alone, and
 * judges the responses that reached their clients whole.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { dieWithParent } from '@gateway/embedded-postgres/die-with-parent'
import * as z from 'zod'
import { METERED_ONCE } from '../../chaos/checkers/metered-once.ts'
import { ROOT } from '../harness/folders.ts'
import type { Lost } from './report.ts'

const OPTIONS = ['--only', 'kill', '--requests', '1000', '--kills', '9', '--seed', '7', '--json']

const verdicts = z.object({
  verdicts: z.array(z.object({ invariant: z.string(), checked: z.number(), violations: z.array(z.unknown()) })),
})

/** Throws when the run broke off; its own words are on stderr by then. */
export async function countLost(signal: AbortSignal): Promise<Lost> {
  const child = spawn(process.execPath, [join(ROOT, 'dev', 'chaos', 'main.ts'), ...OPTIONS], {
    stdio: ['ignore', 'pipe', 'inherit'],
    signal,
  })
  dieWithParent(child)
  const [output] = await Promise.all([text(child.stdout), once(child, 'exit')])
  if (output === '') throw new Error('the chaos run broke off')
  const found = verdicts.parse(JSON.parse(output)).verdicts.find(({ invariant }) => invariant === METERED_ONCE)
  if (!found) throw new Error(`the chaos run has no verdict on "${METERED_ONCE}"`)
  return { checked: found.checked, lost: found.violations.length }
}
