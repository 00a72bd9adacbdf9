/**
 * The share of the machine that others took during a measurement: neighbours on a shared machine, and its host.
 */

import { cpuMsOf, machineCpuMs } from './processes.ts'

/** Begins to watch. The function returns the share, 0 to 1, that neither this process nor its children used. */
export function watchNeighbours(): () => number {
  const [machine, own] = [machineCpuMs(), cpuMsOf(process.pid)]
  return () => {
    const now = machineCpuMs()
    const ownMs = cpuMsOf(process.pid) - own
    return Math.max(0, (now.busy - machine.busy - ownMs) / Math.max(1, now.all - machine.all))
  }
}
