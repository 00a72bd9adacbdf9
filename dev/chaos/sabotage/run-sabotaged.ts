/**
 * Runs the chaos suite against a gateway that lacks one thing, in a folder that is gone afterwards.
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
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  const verdict = result.verdicts.find((one) => one.invariant === invariant)
  return { violations: verdict?.violations ?? [], isKept: result.isKept }
}
