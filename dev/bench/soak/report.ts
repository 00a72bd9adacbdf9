/**
 * The soak as Markdown: a dozen moments of it, the growth, and the audit.
 */

import { describeTaking, figure, table } from '../report/markdown.ts'
import { isExact, type SoakResult, type SoakSample } from './soak-result.ts'

const MOMENTS = 12
/** Memory is judged after this part of the time: before it, heaps grow to their working size. */
const SETTLED_AFTER = 1 / 3

export function reportSoak(result: SoakResult): string {
  const { environment, minutes, rate, streams, samples, audit } = result
  return [
    describeTaking(environment, [result]),
    `${minutes} minutes of ${rate} plain answers a second beside ${streams} streams with a chunk per 50 ms, one edge and one router.`,
    momentTable(samples),
    growthTable(samples),
    audit &&
      `Ledger: ${isExact(audit) ? 'exact' : '**not exact**'}. Clients had ${count(audit.completed)} whole answers (${count(audit.failed)} failed), ` +
        `the ledger has ${count(audit.rows)} rows; ${count(audit.expectedTokens)} completion tokens by the backend's figures, ` +
        `${count(audit.tokens)} in the rows; the rows' charges come to ${count(audit.charges)} milli-tokens, the windows to ${count(audit.windowTotal)}.`,
  ]
    .filter(Boolean)
    .join('\n\n')
}

function momentTable(samples: SoakSample[]): string {
  const every = Math.max(1, Math.ceil(samples.length / MOMENTS))
  const shown = samples.filter((_, index) => index % every === every - 1 || index === samples.length - 1)
  const names = Object.keys(samples[0]?.memoryMb ?? {})
  return table(
    [
      'minute',
      ...names.map((name) => `${name} MB`),
      'p50 ms',
      'p99 ms',
      'lag p99 ms',
      'not yet in the ledger',
      'failed',
    ],
    shown.map(({ minute, memoryMb, latencyP50, latencyP99, lagP99, behind, failed }) => [
      figure(minute),
      ...names.map((name) => figure(memoryMb[name] ?? 0)),
      ...[latencyP50, latencyP99, lagP99, behind, failed].map(figure),
    ]),
  )
}

function growthTable(samples: SoakSample[]): string {
  const settled = samples.slice(Math.floor(samples.length * SETTLED_AFTER))
  const names = Object.keys(samples[0]?.memoryMb ?? {})
  return table(
    ['after the first third', ...names],
    [
      [
        'MB per hour',
        ...names.map((name) => {
          return figure(slope(settled.map(({ minute, memoryMb }) => [minute / 60, memoryMb[name] ?? 0])))
        }),
      ],
    ],
  )
}

/** The slope of the line that lies nearest to the points, by least squares. */
export function slope(points: [x: number, y: number][]): number {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [meanX, meanY] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))]
  const spreadX = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0)
  return spreadX === 0 ? 0 : points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) / spreadX
}

function count(value: number): string {
  return value.toLocaleString('en-US')
}
