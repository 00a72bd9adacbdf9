/**
 * Tables and figures for people.
 */

import { spreadOf } from '../harness/statistics.ts'
import type { Environment } from '../harness/machine.ts'

/** Columns of figures stand to the right. */
export function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`
  const isFigures = (column: number) => rows.every((cells) => FIGURE.test(cells[column] ?? ''))
  return [line(head), line(head.map((_, column) => (isFigures(column) ? '---:' : '---'))), ...rows.map(line)].join('\n')
}

const FIGURE = /^(-?\d|–|failed)/

/** Three significant digits: `0.0283`, `1.27`, `1,340`. */
export function figure(value: number): string {
  if (value === 0) return '0'
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US')
  return String(Number(value.toPrecision(3)))
}

/** The median, and in brackets the least and the most of several launches; `–` for none. */
export function spread(values: (number | undefined)[]): string {
  const of = spreadOf(values.filter((value) => value !== undefined))
  if (!of) return '–'
  return of.count === 1 ? figure(of.median) : `${figure(of.median)} (${figure(of.min)}–${figure(of.max)})`
}

export function median(values: (number | undefined)[]): string {
  const of = spreadOf(values.filter((value) => value !== undefined))
  return of ? figure(of.median) : '–'
}

export function describeTaking(
  { takenAt, commit, machine, kernel, versions }: Environment,
  taken: { loadBefore: number; loadAfter: number; othersShare: number }[],
): string {
  const programs = Object.entries(versions).map(([name, version]) => `${name} ${version}`)
  const load = spread(taken.flatMap(({ loadBefore, loadAfter }) => [loadBefore, loadAfter]))
  const others = spread(taken.map(({ othersShare }) => Math.round(othersShare * 100)))
  return (
    `Taken on ${takenAt.slice(0, 10)} at commit ${commit}: ${machine}, ${kernel}; ${programs.join(', ')}. ` +
    `Meanwhile the load average was ${load} and others took ${others} % of the machine's CPU.`
  )
}
