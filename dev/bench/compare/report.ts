/**
 * The comparison as Markdown: medians over the launches, the least and the most in brackets.
 */

import { total } from '../harness/costs.ts'
import { describeTaking, median, spread, table } from '../report/markdown.ts'
import type { Comparison, LaunchResult, StreamLevel } from './launch-result.ts'
import { HELD_LAG_P99_MS, isHeld } from './measure.ts'

export function reportComparison(comparison: Comparison): string {
  const { environment, launches, subjects } = comparison
  const groups = Object.keys(subjects)
    .map((name) => ({ name, launches: launches.filter(({ subject }) => subject === name) }))
    .filter((group) => group.launches.length > 0)
  const count = Math.max(0, ...groups.map((group) => group.launches.length))
  return [
    describeTaking(environment, launches),
    `Each figure is the median of ${count === 1 ? 'one launch' : `up to ${count} launches, taken in turn`}; in brackets the least and the most.`,
    '### Plain answers of about 1 KB',
    plainTable(groups),
    '"Added" is the difference to the same requests straight to the backend, measured in the same minute; p50, p99, p99.9. ' +
      'Half load is a constant rate, half of what the subject answered per second at 32 connections, each latency counted from when the request was due.',
    '### Streamed answers, a chunk per 50 ms',
    streamTable(groups),
    `Lag is from when the backend wrote a chunk to when the client had it. Held: the most streams with every one whole and the lag's p99 under ${HELD_LAG_P99_MS} ms.`,
    ...groups.filter(({ launches }) => Object.keys(launches[0]?.memoryMb.started ?? {}).length > 1).map(processTable),
    '### Who was measured, and how',
    table(
      ['', ''],
      Object.entries(subjects).map(([name, { description, missing }]) => [
        name,
        missing ? `missing: ${missing.replaceAll('|', '/').replaceAll('\n', ' ')}` : (description ?? ''),
      ]),
    ),
  ].join('\n\n')
}

interface Group {
  name: string
  launches: LaunchResult[]
}

type Latency = NonNullable<LaunchResult['low']>['direct']
type Pair = { direct: Latency; through: Latency } | undefined

function plainTable(groups: Group[]): string {
  const head = [
    '',
    'CPU ms per request',
    'requests per CPU second',
    'requests/s',
    'added ms, 1 connection',
    'rate at half load',
    'added ms, half load',
    'failed',
  ]
  return table(
    head,
    groups.map(({ name, launches }) => [
      name,
      spread(launches.map(({ plain }) => plain && (total(plain.cpuMs) || undefined))),
      spread(launches.map(({ plain }) => (plain && total(plain.cpuMs) > 0 ? 1_000 / total(plain.cpuMs) : undefined))),
      spread(launches.map(({ plain }) => plain?.perSecond)),
      added(launches.map(({ low }) => low)),
      median(launches.map(({ half }) => half?.rate)),
      added(launches.map(({ half }) => half)),
      String(
        launches.reduce(
          (sum, { plain, low, half }) => sum + (plain?.failed ?? 0) + (low?.failed ?? 0) + (half?.failed ?? 0),
          0,
        ),
      ),
    ]),
  )
}

function added(pairs: Pair[]): string {
  const at = (percentile: 'p50' | 'p99' | 'p999') =>
    median(pairs.map((pair) => pair && pair.through[percentile] - pair.direct[percentile]))
  return [at('p50'), at('p99'), at('p999')].join(' / ')
}

const SHOWN_LEVELS = [100, 300, 1_000]

function streamTable(groups: Group[]): string {
  const perLevel = (words: (streams: string) => string) =>
    SHOWN_LEVELS.map((streams) => words(streams.toLocaleString('en-US')))
  return table(
    [
      '',
      'added ms to first content',
      ...perLevel((streams) => `CPU µs per chunk, ${streams}`),
      ...perLevel((streams) => `lag ms p50 / p99, ${streams}`),
      'held',
    ],
    groups.map(({ name, launches }) => {
      const at = (streams: number) =>
        launches.map((launch) => launch.streams?.find((level) => level.streams === streams))
      return [
        name,
        added(launches.map(({ firstContent }) => firstContent)),
        ...SHOWN_LEVELS.map((streams) =>
          median(at(streams).map((level) => level && (total(level.cpuMs) * 1_000 || undefined))),
        ),
        ...SHOWN_LEVELS.map((streams) => lagOf(at(streams))),
        held(launches),
      ]
    }),
  )
}

function lagOf(levels: (StreamLevel | undefined)[]): string {
  const complete = levels.map((level) => (level && level.failed === 0 ? level.lag : undefined))
  if (levels.some((level) => level) && complete.every((lag) => !lag)) return 'failed'
  return `${median(complete.map((lag) => lag?.p50))} / ${median(complete.map((lag) => lag?.p99))}`
}

function held(launches: LaunchResult[]): string {
  return spread(
    launches.map(({ streams }) => streams && Math.max(0, ...streams.filter(isHeld).map((level) => level.streams))),
  )
}

/** Where the cost of a subject of several processes lies. */
function processTable({ name, launches }: Group): string {
  const names = Object.keys(launches[0]!.memoryMb.started)
  const of = (pick: (launch: LaunchResult) => Record<string, number> | undefined, factor = 1) => {
    const values = (process: string) =>
      launches.map((launch) => pick(launch)?.[process]).map((value) => value && value * factor)
    return (process: string) => spread(values(process))
  }
  const columns = [
    of(({ plain }) => plain?.cpuMs),
    ...SHOWN_LEVELS.map((streams) =>
      of((launch) => launch.streams?.find((level) => level.streams === streams)?.cpuMs, 1_000),
    ),
    of(({ memoryMb }) => memoryMb.started),
    of(({ memoryMb }) => memoryMb.loaded),
  ]
  const head = [
    '',
    'CPU ms per request',
    ...SHOWN_LEVELS.map((streams) => `CPU µs per chunk, ${streams.toLocaleString('en-US')}`),
    'MB at start',
    'MB after the load',
  ]
  return `### ${name}, process by process\n\n${table(
    head,
    names.map((process) => [process, ...columns.map((column) => column(process))]),
  )}`
}
