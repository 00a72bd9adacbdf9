/**
 * The outcomes that clients saw during a step.
 */

import type { Load, Outcome } from '../../../tests/promises/load.ts'

/** Runs `work` while the load runs; returns the outcomes that ended since it began. */
export async function outcomesDuring(load: Load, work: () => Promise<unknown>): Promise<readonly Outcome[]> {
  const before = load.outcomes.length
  await work()
  return load.outcomes.slice(before)
}

/** Throws unless every problem is one that `allowed` names. */
export function expectNoFailure(
  outcomes: readonly Outcome[],
  allowed: (outcome: Outcome) => boolean = () => false,
): string {
  const failed = outcomes.filter(({ problem }) => problem !== null)
  const avoidable = failed.filter((outcome) => !allowed(outcome))
  if (avoidable.length > 0) {
    throw new Error(
      `${avoidable.length} of ${outcomes.length} responses failed: ${JSON.stringify(avoidable.slice(0, 5), null, 1)}`,
    )
  }
  if (outcomes.length === 0) throw new Error('nobody was served meanwhile')
  return `${outcomes.length} responses, ${describeProblems(failed)}`
}

/** Returns true for a response under way at some moment between these times. */
export function wasOpenAt(
  { startedAtMs, endedAtMs }: Outcome,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): boolean {
  return startedAtMs <= toMs && endedAtMs >= fromMs
}

function describeProblems(failed: readonly Outcome[]): string {
  const kinds = Map.groupBy(failed, ({ problem }) => problem)
  return (
    [...kinds]
      .map(([problem, { length }]) =>
        problem === 'broken' ? `${length} streams ended with an error` : `${length} ${problem}`,
      )
      .join(', ') || '0 failed'
  )
}
