/**
 * Runs the chaos suite against a gateway that lacks one thing. The evidence stays where the suite did not detect it.
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ChaosOptions } from '../options.ts'
import { runChaos } from '../run-chaos.ts'
import type { Sabotage } from './sabotages.ts'

export interface SabotagedRun {
  sabotage: Sabotage
  /** It rests on the thing that is taken away. */
  invariant: string
  /** Few faults, of the kind that only this thing withstands. */
  run: Pick<ChaosOptions, 'requests' | 'kills' | 'only'>
}

/** The violations of the invariant, and whether the suite found the gateway whole. */
export async function runSabotaged({ sabotage, invariant, run }: SabotagedRun) {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-sabotage-'))
  const { result } = await runChaos({ ...run, seed: 1, json: false, sabotage }, folder, () => {})
  const violations = result.verdicts.find((one) => one.invariant === invariant)?.violations ?? []
  if (violations.length > 0) await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  return { violations, isKept: result.isKept }
}
