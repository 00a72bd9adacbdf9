/**
 * CPU by process over a stretch of time.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { cpuMsOf, memoryMbOf } from './processes.ts'

export type ByProcess = Record<string, number>

function cpuNow(processes: ByProcess): ByProcess {
  return Object.fromEntries(Object.entries(processes).map(([name, pid]) => [name, cpuMsOf(pid)]))
}

/** Milliseconds since `before`, divided by the number of pieces meanwhile. */
function cpuSince(before: ByProcess, processes: ByProcess, count: number): ByProcess {
  const now = cpuNow(processes)
  return Object.fromEntries(Object.keys(before).map((name) => [name, ((now[name] ?? 0) - before[name]!) / count]))
}

/** Durable reports of the work are recorded by then, and count. */
const SETTLE_MS = 1_500

/** Does the work and returns its cost by process, in CPU milliseconds per piece. */
export async function costed<Result>(
  processes: ByProcess,
  work: () => Promise<Result>,
  countOf: (result: Result) => number,
  signal?: AbortSignal,
): Promise<{ result: Result; cpuMs: ByProcess }> {
  const before = cpuNow(processes)
  const result = await work()
  await sleep(SETTLE_MS, undefined, { signal })
  return { result, cpuMs: cpuSince(before, processes, Math.max(1, countOf(result))) }
}

/** A gateway without requests takes less. */
const QUIET_MS_PER_SECOND = 60
const MOST_SECONDS = 30

/** Waits until the work that earlier requests left is done: a database cleans up later. */
export async function untilQuiet(processes: ByProcess, signal?: AbortSignal): Promise<void> {
  for (let second = 0; second < MOST_SECONDS; second++) {
    const before = cpuNow(processes)
    await sleep(1_000, undefined, { signal })
    if (total(cpuSince(before, processes, 1)) < QUIET_MS_PER_SECOND) return
  }
}

export function memoryNow(processes: ByProcess): ByProcess {
  return Object.fromEntries(Object.entries(processes).map(([name, pid]) => [name, memoryMbOf(pid)]))
}

export function total(byProcess: ByProcess): number {
  return Object.values(byProcess).reduce((sum, value) => sum + value, 0)
}
