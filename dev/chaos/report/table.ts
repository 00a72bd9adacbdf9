/**
 * A run in words and tables, as it is printed and as it stands in the README.
 */

import { countStarved } from '../checkers/alone.ts'
import type { Facts } from '../checkers/facts.ts'
import type { CheckResult } from '../checkers/check-run.ts'
import { groupOf } from '../plan/describe-fault.ts'

export function tableOf(header: string[], rows: (string | number)[][]): string {
  const line = (cells: (string | number)[]) => `| ${cells.join(' | ')} |`
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n')
}

export function reportOf(facts: Facts, { verdicts, failures }: CheckResult): string {
  return [
    tableOf(
      ['invariant', 'checked', 'broken'],
      verdicts.map(({ invariant, checked, violations }) => [invariant, checked, violations.length]),
    ),
    faultTable(facts, failures),
    outcomeTable(facts),
    `Times that a busy machine made Redis too slow for an edge, without a fault: ${countStarved(facts)}.`,
  ].join('\n\n')
}

function faultTable({ injected }: Facts, failures: CheckResult['failures']): string {
  const groups = Map.groupBy(injected, ({ fault }) => groupOf(fault))
  const rows = [...groups]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([name, of]) => {
      const numbers = new Set(of.map(({ fault }) => fault.number))
      const allowed = failures.filter(({ allowedBy }) => allowedBy && numbers.has(allowedBy.fault.number))
      const healing = of.map(({ injectedAtMs, healedAtMs }) => (healedAtMs ?? Infinity) - injectedAtMs)
      return [
        name,
        of.length,
        `${(Math.max(...healing) / 1_000).toFixed(1)} s`,
        countBy(allowed.map(({ problem, isStarved }) => problem + (isStarved ? ' (and Redis too slow)' : ''))),
      ]
    })
  return tableOf(['fault', 'times', 'healed within', 'failures it allowed at clients'], rows)
}

function outcomeTable({ seen }: Facts): string {
  const rows = [...Map.groupBy(seen, ({ kind }) => kind)].map(([kind, of]) => [
    kind,
    of.length,
    of.filter(({ complete }) => complete).length,
    countBy(of.map(({ problem }) => problem).filter((problem) => problem !== null)),
  ])
  return tableOf(['client', 'requests', 'answered whole', 'otherwise'], rows)
}

function countBy(names: string[]): string {
  const counts = [...Map.groupBy(names, (name) => name)].map(([name, of]) => `${of.length} × ${name}`)
  return counts.length === 0 ? '–' : counts.join(', ')
}
