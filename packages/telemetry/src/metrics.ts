/**
 * The counters and histograms of a process, as Prometheus text (format 0.0.4).
 *
 * A series is a cell that its caller keeps: `requests.labels('chat', '200')` is looked up once, `add()` is an addition.
 * Memory stays bounded: an instrument has at most {@link MAX_SERIES} series. Further ones count together under `other`,
 * so that a label's value from outside can never fill the process.
 *
 * Every series carries the label `service`. Where several services share a process, each gets its own view of the page
 * ({@link Metrics.of}). Their names are the same as in processes of their own.
 */

interface Counter {
  add(amount?: number): void
}

interface Gauge {
  set(value: number): void
  add(amount: number): void
}

interface Histogram {
  observe(value: number): void
}

/** A named family of series; `labels` gives the one with these values, in the order of the names. */
interface Family<Cell> {
  labels(...values: string[]): Cell
}

export interface Metrics {
  /** Counts up; its name ends with `_total`. */
  counter(name: string, help: string, labelNames?: readonly string[]): Family<Counter>
  gauge(name: string, help: string, labelNames?: readonly string[]): Family<Gauge>
  /** Read at each scrape. */
  observedCounter(name: string, help: string, read: () => Reading, labelNames?: readonly string[]): void
  observedGauge(name: string, help: string, read: () => Reading, labelNames?: readonly string[]): void
  /** `bounds`: ascending upper bounds; `+Inf` is added. */
  histogram(name: string, help: string, bounds: readonly number[], labelNames?: readonly string[]): Family<Histogram>
  /** The same page under the name of another service of this process. */
  of(service: string): Metrics
  text(): string
}

/** Upper bounds in seconds for a request's or a call's duration. */
export const DURATION_BOUNDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600,
]
/** For durations of at most a few milliseconds. */
export const SHORT_BOUNDS = [0.0005, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]

export const MAX_SERIES = 2_000

export function createMetrics({ service }: { service: string }): Metrics {
  return viewOf(openPage(), service)
}

function viewOf(page: Page, service: string): Metrics {
  const head = (name: string, help: string, type: Head['type'], labelNames: readonly string[] = []): Head => {
    return { name, help, type, labelNames, service }
  }
  return {
    counter: (name, help, labelNames) => family(page, head(name, help, 'counter', labelNames), () => new NumberCell()),
    gauge: (name, help, labelNames) => family(page, head(name, help, 'gauge', labelNames), () => new NumberCell()),
    histogram: (name, help, bounds, labelNames) =>
      family(page, head(name, help, 'histogram', labelNames), () => new HistogramCell(bounds)),
    observedCounter: (name, help, read, labelNames) => observe(page, head(name, help, 'counter', labelNames), read),
    observedGauge: (name, help, read, labelNames) => observe(page, head(name, help, 'gauge', labelNames), read),
    of: (other) => viewOf(page, other),
    text: () => page.text(),
  }
}

function family<Cell extends NumberCell | HistogramCell>(page: Page, head: Head, create: () => Cell): Family<Cell> {
  const series = new Map<string, { labels: string; cell: Cell }>()
  page.register(head, () => Array.from(series.values(), ({ labels, cell }) => writeCell(head.name, labels, cell)))
  const found: Family<Cell> = {
    labels(...values) {
      if (values.length !== head.labelNames.length)
        throw new Error(`${head.name} takes ${head.labelNames.length} labels`)
      const key = values.join('\0')
      const existing = series.get(key)
      if (existing) return existing.cell
      const isOther = values.every((value) => value === 'other')
      if (series.size >= MAX_SERIES && !isOther) return found.labels(...values.map(() => 'other'))
      const cell = create()
      series.set(key, { labels: writeLabels(head, values), cell })
      return cell
    },
  }
  return found
}

function observe(page: Page, head: Head, read: () => Reading): void {
  page.register(head, () => {
    const reading = read()
    const series = typeof reading === 'number' ? [[[], reading] as const] : reading
    return Array.from(series, ([values, value]) => writeCell(head.name, writeLabels(head, values), { value }))
  })
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
    // A sum that falls would look like a restart.
    if (value > 0) this.sum += value
  }
}

/** Makes a thing once for each name, for names from a bounded set, as labels are. */
export function memoize<T>(make: (name: string) => T): (name: string) => T {
  const made = new Map<string, T>()
  return (name) => {
    const known = made.get(name)
    if (known !== undefined) return known
    const value = make(name)
    made.set(name, value)
    return value
  }
}

/** One number, or one for each set of label values. */
export type Reading = number | Iterable<readonly [values: readonly string[], value: number]>

interface Head {
  name: string
  help: string
  type: 'counter' | 'gauge' | 'histogram'
  labelNames: readonly string[]
  service: string
}

interface Page {
  /** `write`: the lines of each series. Throws when the name is taken or means something else elsewhere. */
  register(head: Head, write: () => string[]): void
  text(): string
}

/** The value of a series: a number, or a histogram's counts by bucket. */
type Cell = { value: number } | { bounds: readonly number[]; counts: readonly number[]; sum: number }

interface Metric extends Head {
  /** By service. */
  parts: Map<string, () => string[]>
}

function openPage(): Page {
  const metrics = new Map<string, Metric>()
  return {
    register(head, write) {
      const { name, service } = head
      if (!/^[a-z][a-z0-9_]*$/.test(name)) throw new Error(`"${name}" is not a metric name`)
      const known = metrics.get(name) ?? { ...head, parts: new Map<string, () => string[]>() }
      if (known.parts.has(service)) throw new Error(`the metric ${name} exists already`)
      if (meaningOf(known) !== meaningOf(head)) throw new Error(`the metric ${name} means something else elsewhere`)
      metrics.set(name, known)
      known.parts.set(service, write)
    },
    text: () => [...metrics.values()].map(writeMetric).join(''),
  }
}

function meaningOf({ help, type, labelNames }: Head): string {
  return JSON.stringify([help, type, labelNames])
}

function writeMetric({ name, help, type, parts }: Metric): string {
  const escaped = help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
  const series = Array.from(parts.values(), (write) => write().join('')).join('')
  return `# HELP ${name} ${escaped}\n# TYPE ${name} ${type}\n${series}`
}

function writeCell(name: string, labels: string, cell: Cell): string {
  if ('value' in cell) return `${name}{${labels}} ${cell.value}\n`
  let total = 0
  const buckets = cell.counts.map((count, index) => {
    total += count
    return `${name}_bucket{${labels},le="${cell.bounds[index] ?? '+Inf'}"} ${total}\n`
  })
  return `${buckets.join('')}${name}_sum{${labels}} ${cell.sum}\n${name}_count{${labels}} ${total}\n`
}

function writeLabels({ service, labelNames }: Head, values: readonly string[]): string {
  const pairs = [['service', service], ...labelNames.map((name, index) => [name, values[index] ?? ''])]
  return pairs.map(([name, value]) => `${name}="${escapeLabel(value ?? '')}"`).join(',')
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
