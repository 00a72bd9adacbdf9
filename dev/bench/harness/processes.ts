/**
 * The cost of processes, as the kernel counts it: CPU time and memory of a process with its threads and children.
 */

import { globSync, readFileSync } from 'node:fs'

/** The kernel's unit of CPU time in `/proc/<pid>/stat` for programs: a hundredth of a second on every Linux. */
const TICK_MS = 10

/** Milliseconds of CPU that the process, its threads, its children and its ended children have used. */
export function cpuMsOf(pid: number): number {
  return treeOf(pid).reduce((sum, member) => sum + ownCpuMs(member), 0)
}

/** Megabytes, where memory that processes share is counted once. */
export function memoryMbOf(pid: number): number {
  return treeOf(pid).reduce((sum, member) => sum + ownMemoryKb(member), 0) / 1_024
}

/** The work of the whole machine's cores since it began, in milliseconds of CPU; time that its host took counts as busy. */
export function machineCpuMs(): { busy: number; all: number } {
  const line = read('/proc/stat').split('\n')[0] ?? ''
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, softirq = 0, steal = 0] = line
    .split(/\s+/)
    .slice(1)
    .map(Number)
  const busy = user + nice + system + irq + softirq + steal
  return { busy: busy * TICK_MS, all: (busy + idle + wait) * TICK_MS }
}

function treeOf(pid: number): number[] {
  const children = globSync(`/proc/${pid}/task/*/children`).flatMap((path) => read(path).split(' ').filter(Boolean))
  return [pid, ...children.flatMap((child) => treeOf(Number(child)))]
}

function ownCpuMs(pid: number): number {
  const stat = read(`/proc/${pid}/stat`)
  // The command, in brackets, may itself hold brackets and blanks.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [user, system, endedChildrenUser, endedChildrenSystem] = fields.slice(11, 15).map(Number)
  if (endedChildrenSystem === undefined) return 0
  return (user! + system! + endedChildrenUser! + endedChildrenSystem) * TICK_MS
}

function ownMemoryKb(pid: number): number {
  const shared = /^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))
  return Number(shared?.[1] ?? /^VmRSS:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0)
}

/** Empty when the process has ended meanwhile. */
function read(path: string): string {
  try {
    return readFileSync(path, 'latin1').trim()
  } catch {
    return ''
  }
}
