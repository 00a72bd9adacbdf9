/**
 * The scale curves, one after the other: each kept when it is done, so that a run that was stopped goes on with the next.
 */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { RESULTS } from '../harness/folders.ts'
import { describeEnvironment, loadNow } from '../harness/machine.ts'
import { watchNeighbours } from '../harness/neighbours.ts'
import { readResult, writeResult } from '../harness/results.ts'
import { drawChart } from '../report/chart.ts'
import { describeTaking, figure, table } from '../report/markdown.ts'
import { publishBackends } from '../report/publish-capacity.ts'
import { writeIntoReadme } from '../report/pages.ts'
import { scaleResult, type Curve, type ScaleResult, type Scaling } from './curve.ts'
import { scaleInstances } from './instances.ts'
import { scaleKeys } from './keys.ts'
import { scaleLedger } from './ledger.ts'
import { scalePrompts } from './prompts.ts'
import { scaleStreams } from './streams.ts'

const CURVES: Record<string, (scaling: Scaling) => Promise<Curve>> = {
  instances: scaleInstances,
  streams: scaleStreams,
  prompts: scalePrompts,
  keys: scaleKeys,
  ledger: scaleLedger,
}

export const CURVE_NAMES = Object.keys(CURVES)

const PART = 'scale'

export interface ScaleOptions extends Scaling {
  /** An empty list stands for all. */
  only: string[]
  fresh: boolean
  deadlineMs: number
}

export async function scale(options: ScaleOptions): Promise<void> {
  const { only, say, signal } = options
  const result = await begin(options)
  for (const [name, measure] of Object.entries(CURVES)) {
    if ((only.length > 0 && !only.includes(name)) || result.curves[name]) continue
    if (Date.now() > options.deadlineMs) return say('the time is up; the same command goes on from here')
    signal.throwIfAborted()
    say(`scale: ${name}`)
    const [loadBefore, othersShare] = [loadNow(), watchNeighbours()]
    const measured = await measure(options)
    const taken = { loadBefore, loadAfter: loadNow(), othersShare: othersShare() }
    result.curves[name] = { ...measured, takenAt: new Date().toISOString(), ...taken }
    await publish(result)
  }
}

/** Measurements of an earlier run on the same code and machine count, unless the caller wants them again or further. */
async function begin({ fresh, only, mostKeys, mostRows }: ScaleOptions): Promise<ScaleResult> {
  const environment = describeEnvironment()
  const earlier = await readResult(PART, scaleResult)
  const isSame = earlier?.environment.code === environment.code && earlier.environment.machine === environment.machine
  if (!isSame) return { environment, curves: {} }
  const most: Record<string, number> = { keys: mostKeys, ledger: mostRows }
  const isDone = ([name, { points }]: [string, Curve]) => {
    const isSelected = only.length === 0 || only.includes(name)
    const wentFarEnough = Number(points.at(-1)?.x) >= (most[name] ?? 0) || most[name] === undefined
    return !isSelected || (!fresh && wentFarEnough)
  }
  return { environment, curves: Object.fromEntries(Object.entries(earlier.curves).filter(isDone)) }
}

async function publish(result: ScaleResult): Promise<void> {
  await writeResult(PART, result)
  for (const [name, { title, x, points, panels, columns }] of Object.entries(result.curves)) {
    const drawn = drawChart({
      title,
      xTitle: x,
      xs: points.map((point) => point.x),
      panels: panels.map((panel) => ({
        title: panel.title,
        series: panel.columns.map((column) => {
          return { name: columns[column] ?? column, values: points.map(({ values }) => values[column]) }
        }),
      })),
    })
    await writeFile(join(RESULTS, `scale-${name}.svg`), drawn)
  }
  await writeIntoReadme(PART, reportScale(result))
  await publishBackends()
}

function reportScale({ environment, curves }: ScaleResult): string {
  const ordered = Object.keys(CURVES).flatMap((name) => (curves[name] ? [{ name, ...curves[name] }] : []))
  return [
    describeTaking(environment, ordered),
    ...ordered.map(({ name, title, x, columns, points, notes }) => {
      const head = [x, ...Object.values(columns)]
      const rows = points.map((point) => [
        typeof point.x === 'number' ? point.x.toLocaleString('en-US') : point.x,
        ...Object.keys(columns).map((column) =>
          point.values[column] === undefined ? '–' : figure(point.values[column]),
        ),
      ])
      return [`### ${title}`, `![${title}](results/scale-${name}.svg)`, table(head, rows), ...notes].join('\n\n')
    }),
  ].join('\n\n')
}
