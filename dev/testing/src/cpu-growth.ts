/**
 * Measures the growth of CPU time of a piece of work with its input: the time for 2N divided by the time for N.
 *
 * Linear work doubles, quadratic work quadruples. Noise only adds time, so the least of several runs counts. Work below a
 * few milliseconds counts as that long: at the sizes that tests use, no quadratic work is so short.
 */

const FEWEST_RUNS = 2
/** A busy machine needs more until both sizes have had a quiet moment. */
const MOST_RUNS = 15
/** Work that grows too fast is not repeated for longer. */
const ENOUGH_MS = 2_000
const LEAST_MS = 10

/** Below this the growth is taken to be linear. */
export const LINEAR_BELOW = 3

/** Makes an input of so many items. */
export type Make<Made = object> = (count: number) => Made

export function many<Item>(count: number, item: (at: number) => Item): Item[] {
  return Array.from({ length: count }, (_, at) => item(at))
}

/**
 * `prepare` makes the input, which costs nothing here, and returns the work on it. The collector may take more at some size, which looks
 * like growth there. Work that truly grows too fast does so at twice the size as well.
 */
export function cpuGrowth(size: number, prepare: (size: number) => () => void): number {
  const measured = growthFrom(size, prepare)
  return measured < LINEAR_BELOW ? measured : Math.min(measured, growthFrom(2 * size, prepare))
}

function growthFrom(size: number, prepare: (size: number) => () => void): number {
  const once = prepare(size)
  const twice = prepare(2 * size)
  let [onceMs, twiceMs, spentMs] = [Infinity, Infinity, 0]
  for (let run = 1; run <= MOST_RUNS; run++) {
    const [onceNow, twiceNow] = [cpuMsOf(once), cpuMsOf(twice)]
    ;[onceMs, twiceMs, spentMs] = [Math.min(onceMs, onceNow), Math.min(twiceMs, twiceNow), spentMs + onceNow + twiceNow]
    if (run >= FEWEST_RUNS && (growth(onceMs, twiceMs) < LINEAR_BELOW || spentMs > ENOUGH_MS)) break
  }
  return growth(onceMs, twiceMs)
}

function growth(onceMs: number, twiceMs: number): number {
  return Math.max(LEAST_MS, twiceMs) / Math.max(LEAST_MS, onceMs)
}

/** CPU time of this thread alone: compilers and collectors work in others. */
function cpuMsOf(work: () => void): number {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}
