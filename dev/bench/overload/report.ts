/**
 * The overload runs as Markdown: before and after, each launch's figures beside its own capacity.
 */

import { describeTaking, figure, spread, table } from '../report/markdown.ts'
import { goodputShare, type Level, type OverloadResult } from './overload-result.ts'

export function reportOverload(after: OverloadResult, before?: OverloadResult): string {
  const runs = [...(before ? [{ name: 'before', result: before }] : []), { name: before ? 'after' : '', result: after }]
  return [
    ...runs.map(({ name, result }) =>
      [name, describeTaking(result.environment, result.launches)].filter(Boolean).join(': '),
    ),
    levelTable(runs),
    'Goodput and the rate offered are in times the capacity in a closed loop just before and after each level (before all levels in the record before; goodput in times the rate offered where that is less): ' +
      `${runs.map(({ name, result }) => `${name} ${spread(result.launches.map(({ capacity }) => capacity))}`.trim()).join(', ')} requests a second. ` +
      'A whole answer counts when it came within two seconds of when the request was due; p50 and p99 are of those. Each figure is the median of the launches; in brackets the least and the most.',
    streamTable(runs),
  ].join('\n\n')
}

type Runs = { name: string; result: OverloadResult }[]

function levelTable(runs: Runs): string {
  const head = ['offered', '', 'goodput', 'p50 ms', 'p99 ms', 'refused %', 'refusal p99 ms', 'gave up %', 'errors']
  const times = runs[0]!.result.launches[0]?.levels.map((level) => level.times) ?? []
  const rows = times.flatMap((factor) =>
    runs.map(({ name, result }) => {
      const of = (value: (level: Level, capacity: number) => number) =>
        spread(
          result.launches.flatMap(({ levels, capacity }) =>
            levels.filter((level) => level.times === factor).map((level) => value(level, capacity)),
          ),
        )
      return [
        `${factor} ×`,
        name,
        of(goodputShare),
        of(({ p50 }) => p50),
        of(({ p99 }) => p99),
        of(({ refused }) => refused * 100),
        of(({ refusalP99 }) => refusalP99),
        of(({ gaveUp }) => gaveUp * 100),
        of(({ errors }) => errors),
      ]
    }),
  )
  return table(head, rows)
}

function streamTable(runs: Runs): string {
  const requested = figure(runs[0]!.result.launches[0]?.streams.requested ?? 0)
  const rows = runs.map(({ name, result }) => {
    const of = (value: (streams: OverloadResult['launches'][number]['streams']) => number) =>
      spread(result.launches.map(({ streams }) => value(streams)))
    return [
      name,
      of(({ complete }) => complete),
      of(({ refused }) => refused),
      of(({ refusalP99 }) => refusalP99),
      of(({ broken }) => broken),
      of(({ lagP99 }) => lagP99),
    ]
  })
  return table(
    [`${requested} streams within two seconds`, 'whole', 'refused', 'refusal p99 ms', 'neither', 'lag p99 ms'],
    rows,
  )
}
