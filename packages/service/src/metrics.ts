/**
 * What a process counts, written out as Prometheus text (format 0.0.4).
 *
 * A series is a cell that its caller keeps: `requests.labels('chat', '200')` is looked up once, `add()` is an addition.
 * Memory stays bounded: past {@link MAX_SERIES} series of one instrument, further ones are counted together under
 * `other`, so that a label's value from outside can never fill the process.
 */

import { processMetrics } from './process-metrics.ts'

export interface Counter {
  add(amount?: number): void
}

export interface Gauge {
  set(value: number): void
  add(amount: number): void
}

export interface Histogram {
  observe(value: number): void
}

/** A named family of series; `labels` gives the one with these values, in the order of the names. */
export interface Family<Cell> {
  labels(...values: string[]): Cell
}

export interface Metrics {
  /** Counts up; its name ends with `_total`. */
  counter(name: string, help: string, labelNames?: readonly string[]): Family<Counter>
  gauge(name: string, help: string, labelNames?: readonly string[]): Family<Gauge>
  /** Read when somebody asks. */
  observedCounter(name: string, help: string, read: () => number): void
  observedGauge(name: string, help: string, read: () => number): void
  /** `bounds`: ascending upper bounds; `+Inf` is added. */
  histogram(name: string, help: string, bounds: readonly number[], labelNames?: readonly string[]): Family<Histogram>
  text(): string
}

/** Upper bounds in seconds for a request's or a call's duration. */
export const DURATION_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

export const MAX_SERIES = 2_000

export function createMetrics({ service }: { service: string }): Metrics {
  const written = new Map<string, () => string>()

  function register(name: string, write: () => string) {
    if (!/^[a-z][a-z0-9_]*$/.test(name)) throw new Error(`"${name}" is not a metric name`)
    if (written.has(name)) throw new Error(`the metric ${name} exists already`)
    written.set(name, write)
  }

  function family<Cell>(
    head: { name: string; help: string; type: string },
    labelNames: readonly string[],
    create: () => Cell,
    writeCell: (cell: Cell, labels: string) => string,
  ): Family<Cell> {
    const cells = new Map<string, { labels: string; cell: Cell }>()
    register(head.name, () => {
      const lines = [...cells.values()].map(({ labels, cell }) => writeCell(cell, labels)).join('')
      return writeHead(head) + lines
    })
    return {
      labels(...values) {
        if (values.length !== labelNames.length) throw new Error(`${head.name} takes ${labelNames.length} labels`)
        const key = values.join('\0')
        const existing = cells.get(key)
        if (existing) return existing.cell
        const isOther = values.every((value) => value === 'other')
        if (cells.size >= MAX_SERIES && !isOther) return this.labels(...values.map(() => 'other'))
        const labels = writeLabels([
          ['service', service],
          ...labelNames.map((label, index) => [label, values[index] ?? ''] as const),
        ])
        const cell = create()
        cells.set(key, { labels, cell })
        return cell
      },
    }
  }

  function observed(head: { name: string; help: string; type: string }, read: () => number) {
    const labels = writeLabels([['service', service]])
    register(head.name, () => `${writeHead(head)}${head.name}{${labels}} ${read()}\n`)
  }

  const metrics: Metrics = {
    counter(name, help, labelNames = []) {
      const write = (cell: NumberCell, labels: string) => `${name}{${labels}} ${cell.value}\n`
      return family({ name, help, type: 'counter' }, labelNames, () => new NumberCell(), write)
    },
    gauge(name, help, labelNames = []) {
      const write = (cell: NumberCell, labels: string) => `${name}{${labels}} ${cell.value}\n`
      return family({ name, help, type: 'gauge' }, labelNames, () => new NumberCell(), write)
    },
    observedCounter: (name, help, read) => observed({ name, help, type: 'counter' }, read),
    observedGauge: (name, help, read) => observed({ name, help, type: 'gauge' }, read),
    histogram(name, help, bounds, labelNames = []) {
      const create = () => new HistogramCell(bounds)
      return family({ name, help, type: 'histogram' }, labelNames, create, (cell, labels) =>
        writeHistogram(name, labels, cell),
      )
    },
    text: () => [...written.values()].map((write) => write()).join(''),
  }
  processMetrics(metrics)
  return metrics
}

class NumberCell implements Counter, Gauge {
  value = 0
  add(amount = 1) {
    this.value += amount
  }
  set(value: number) {
    this.value = value
  }
}

class HistogramCell implements Histogram {
  readonly bounds: readonly number[]
  /** One more than bounds: the last is `+Inf`. Not cumulative; added up when written. */
  readonly counts: number[]
  sum = 0

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0)
  }

  observe(value: number) {
    let index = 0
    while (index < this.bounds.length && value > this.bounds[index]!) index++
    this.counts[index]!++
    this.sum += value
  }
}

function writeHistogram(name: string, labels: string, cell: HistogramCell): string {
  let total = 0
  const buckets = cell.counts.map((count, index) => {
    total += count
    return `${name}_bucket{${labels},le="${cell.bounds[index] ?? '+Inf'}"} ${total}\n`
  })
  return `${buckets.join('')}${name}_sum{${labels}} ${cell.sum}\n${name}_count{${labels}} ${total}\n`
}

function writeHead({ name, help, type }: { name: string; help: string; type: string }): string {
  const escaped = help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
  return `# HELP ${name} ${escaped}\n# TYPE ${name} ${type}\n`
}

function writeLabels(pairs: readonly (readonly [string, string])[]): string {
  return pairs.map(([name, value]) => `${name}="${escapeLabel(value)}"`).join(',')
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
