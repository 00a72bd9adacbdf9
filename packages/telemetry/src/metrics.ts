/**
 * The counters and histograms of a process, as Prometheus text (format 0.0.4).
 *
 * A series is a cell that its caller keeps: `requests.labels('chat', '200')` is looked up once, `add()` is an addition.
 * Memory stays bounded: an instrument has at most {@link MAX_SERIES} series. Further ones count together under `other`,
 * so that a label's value from outside can never fill the process.
 *
 * Every series carries the label `service`. Where several services share a process, each gets its own face of the page
 * ({@link Metrics.of}). Their names are the same as in processes of their own.
 */

import type { TokenUsage } from '@gateway/contracts/usage'
import { openPage, type Head, type Page, type Reading } from './write-metrics.ts'

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
  observedCounter(name: string, help: string, read: () => Reading, labelNames?: readonly string[]): void
  observedGauge(name: string, help: string, read: () => Reading, labelNames?: readonly string[]): void
  /** `bounds`: ascending upper bounds; `+Inf` is added. */
  histogram(name: string, help: string, bounds: readonly number[], labelNames?: readonly string[]): Family<Histogram>
  /** The same page under the name of another service of this process. */
  of(service: string): Metrics
  text(): string
}

/** Upper bounds in seconds for a request's or a call's duration. */
export const DURATION_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]
/** For durations of at most a few milliseconds. */
export const SHORT_BOUNDS = [0.0005, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]

export const MAX_SERIES = 2_000

export function createMetrics({ service }: { service: string }): Metrics {
  return faceOf(openPage(), service)
}

function faceOf(page: Page, service: string): Metrics {
  const head = (name: string, help: string, type: Head['type'], labelNames: readonly string[] = []): Head => {
    return { name, help, type, labelNames, service }
  }
  return {
    counter: (name, help, labelNames) => family(page, head(name, help, 'counter', labelNames), () => new NumberCell()),
    gauge: (name, help, labelNames) => family(page, head(name, help, 'gauge', labelNames), () => new NumberCell()),
    histogram: (name, help, bounds, labelNames) =>
      family(page, head(name, help, 'histogram', labelNames), () => new HistogramCell(bounds)),
    observedCounter: (name, help, read, labelNames) => page.observe(head(name, help, 'counter', labelNames), read),
    observedGauge: (name, help, read, labelNames) => page.observe(head(name, help, 'gauge', labelNames), read),
    of: (other) => faceOf(page, other),
    text: () => page.text(),
  }
}

function family<Cell extends NumberCell | HistogramCell>(page: Page, head: Head, create: () => Cell): Family<Cell> {
  const cells = new Map<string, Cell>()
  const write = page.add(head)
  const found: Family<Cell> = {
    labels(...values) {
      if (values.length !== head.labelNames.length)
        throw new Error(`${head.name} takes ${head.labelNames.length} labels`)
      const key = values.join('\0')
      const existing = cells.get(key)
      if (existing) return existing
      const isOther = values.every((value) => value === 'other')
      if (cells.size >= MAX_SERIES && !isOther) return found.labels(...values.map(() => 'other'))
      const cell = create()
      cells.set(key, cell)
      write(values, cell)
      return cell
    },
  }
  return found
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

/**
 * Counts the tokens of ended requests by the model that served them. Cached tokens are part of the prompt's, reasoning
 * tokens part of the completion's.
 */
export function countTokens(metrics: Metrics): (model: string, usage: TokenUsage) => void {
  const tokens = metrics.counter(
    'gateway_tokens_total',
    '`prompt` (of it `cached`) and `completion` (of it `reasoning`); reported by edges, and by routers for lost edges',
    ['model', 'kind'],
  )
  const ofModel = memoize((model) => ({
    prompt: tokens.labels(model, 'prompt'),
    completion: tokens.labels(model, 'completion'),
    cached: tokens.labels(model, 'cached'),
    reasoning: tokens.labels(model, 'reasoning'),
  }))
  return (model, usage) => {
    const cells = ofModel(model)
    cells.prompt.add(usage.promptTokens)
    cells.completion.add(usage.completionTokens)
    cells.cached.add(usage.cachedTokens)
    cells.reasoning.add(usage.reasoningTokens)
  }
}

/** Counts reservations of running requests that nobody renewed. Every process with an admission store uses it. */
export function countLapsedLeases(metrics: Metrics): (count: number) => void {
  const lapsed = metrics
    .counter(
      'gateway_admission_lapsed_leases_total',
      'reservations that nobody renewed: an edge died, or a router without a report',
    )
    .labels()
  return (count) => lapsed.add(count)
}
