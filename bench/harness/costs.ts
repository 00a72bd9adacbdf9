/**
 * CPU by process over a stretch of time.
 */

import { cpuMsOf, memoryMbOf } from './processes.ts'

export type ByProcess = Record<string, number>

export function cpuNow(processes: ByProcess): ByProcess {
  return Object.fromEntries(Object.entries(processes).map(([name, pid]) => [name, cpuMsOf(pid)]))
}

/** Milliseconds since `before`, divided by what was done meanwhile. */
export function cpuSince(before: ByProcess, processes: ByProcess, count: number): ByProcess {
  const now = cpuNow(processes)
  return Object.fromEntries(Object.keys(before).map((name) => [name, ((now[name] ?? 0) - before[name]!) / count]))
}

export function memoryNow(processes: ByProcess): ByProcess {
  return Object.fromEntries(Object.entries(processes).map(([name, pid]) => [name, memoryMbOf(pid)]))
}

export function total(byProcess: ByProcess): number {
  return Object.values(byProcess).reduce((sum, value) => sum + value, 0)
}
