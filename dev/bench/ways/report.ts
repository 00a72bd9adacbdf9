/**
 * The cost of the other APIs over chat: the record of a run, and its table.
 */

import * as z from 'zod'
import { total } from '../harness/costs.ts'
import { environment } from '../harness/machine.ts'
import { describeTaking, spread, table } from '../report/markdown.ts'

/** CPU milliseconds per request, by process. */
const cost = z.record(z.string(), z.number())

const launch = z.object({
  /** Every way once in each turn. */
  turns: z.array(z.record(z.string(), cost)),
  loadBefore: z.number(),
  loadAfter: z.number(),
  othersShare: z.number(),
})

export const waysResult = z.object({ environment, launches: z.array(launch) })

export type WaysResult = z.infer<typeof waysResult>
export type Turn = WaysResult['launches'][number]['turns'][number]

/** `over` and `passed`: the ways whose cost in the same turn is 1. */
export function reportWays(
  { environment, launches }: WaysResult,
  ways: { name: string; over: string | null; passed?: string }[],
): string {
  const turns = launches.flatMap((launch) => launch.turns)
  const rows = ways.map(({ name, over, passed }) => {
    const of = (share: (turn: Turn) => number) => spread(turns.map(share))
    const process = (process: string) => of((turn) => turn[name]![process] ?? 0)
    return [
      name,
      of((turn) => total(turn[name]!)),
      ...[over, passed].map((other) => (other ? of((turn) => total(turn[name]!) / total(turn[other]!)) : '–')),
      ...PROCESSES.map(process),
    ]
  })
  const head = [
    '',
    'CPU ms per request, all processes',
    'over chat',
    'over passed through',
    ...PROCESSES.map((process) => `of it ${process}`),
  ]
  return [describeTaking(environment, launches), table(head, rows)].join('\n\n')
}

/** The others do the same work for every way. */
const PROCESSES = ['edge-1', 'router-1', 'nats']
