/**
 * The requests that one edge has ended, by minute, hour and day. Metering knows neither refused requests nor latencies.
 *
 * A request adds to one minute. A minute that is over moves into its hour and its day. Each minute, hour and day has at most
 * {@link MOST_NAMES} models, backends and projects of their own; later ones count in the totals alone. Pure: the clock is an argument.
 */

import { emptyHistogram, type Histogram, mergeHistogram, observe } from './latency-histogram.ts'

/** The busiest come first, so they are among the first. A figure takes some 400 bytes. */
export const MOST_NAMES = 300

export interface EndedRequest {
  /** Of the config; empty: none was read. */
  model: string
  /** Empty: none served it. */
  backend: string
  /** Empty: nobody proved to be its caller. */
  account: string
  /** `ok`, `client_gone`, or the error's code. */
  outcome: string
  tookMs: number
  /** Of a stream with content. */
  firstTokenMs: number | null
}

export interface Figures {
  /** Ended ones, the refused among them. */
  requests: number
  /** Requests of other outcomes than `ok`. */
  failures: Record<string, number>
  /** Of requests that were served. */
  duration: Histogram
  firstToken: Histogram
}

export interface Slot {
  /** In seconds since 1970. */
  begins: number
  all: Figures
  models: Map<string, Figures>
  backends: Map<string, Figures>
  projects: Map<string, Figures>
}

/** The series that an edge keeps, by the seconds of a slot. */
const KEPT_SLOTS = new Map([
  [60, 61],
  [3_600, 25],
  [86_400, 32],
])
const MINUTE = 60

export const OK = 'ok'

export function emptyFigures(): Figures {
  return { requests: 0, failures: {}, duration: emptyHistogram(), firstToken: emptyHistogram() }
}

export function addFigures(into: Figures, from: Figures): void {
  into.requests += from.requests
  for (const code in from.failures) into.failures[code] = (into.failures[code] ?? 0) + from.failures[code]!
  mergeHistogram(into.duration, from.duration)
  mergeHistogram(into.firstToken, from.firstToken)
}

function emptySlot(begins: number): Slot {
  return { begins, all: emptyFigures(), models: new Map(), backends: new Map(), projects: new Map() }
}

/** Null: the bound is reached. */
function figuresOf(named: Map<string, Figures>, name: string): Figures | null {
  const known = named.get(name)
  if (known) return known
  if (named.size >= MOST_NAMES) return null
  const figures = emptyFigures()
  named.set(name, figures)
  return figures
}

function addSlot(into: Slot, from: Slot): void {
  addFigures(into.all, from.all)
  for (const part of ['models', 'backends', 'projects'] as const) {
    for (const [name, figures] of from[part]) {
      const sum = figuresOf(into[part], name)
      if (sum) addFigures(sum, figures)
    }
  }
}

function count(figures: Figures | null, { outcome, tookMs, firstTokenMs }: EndedRequest): void {
  if (figures === null) return
  figures.requests++
  if (outcome === OK) observe(figures.duration, tookMs)
  else figures.failures[outcome] = (figures.failures[outcome] ?? 0) + 1
  if (firstTokenMs !== null) observe(figures.firstToken, firstTokenMs)
}

export class Traffic {
  #open: Slot
  /** Slots that are over, and the parts of open ones that are; by the seconds of a slot, and by their begin. */
  readonly #series = new Map(Array.from(KEPT_SLOTS.keys(), (seconds) => [seconds, new Map<number, Slot>()]))

  constructor(nowMs: number) {
    this.#open = emptySlot(beginOf(nowMs / 1_000, MINUTE))
  }

  add(ended: EndedRequest, nowMs: number): void {
    this.#moveOn(nowMs)
    const { model, backend, account } = ended
    const { all, models, backends, projects } = this.#open
    count(all, ended)
    if (model !== '') count(figuresOf(models, model), ended)
    if (backend !== '') count(figuresOf(backends, backend), ended)
    if (account !== '') count(figuresOf(projects, account), ended)
  }

  /** The slots of `seconds` that begin in the range; of the one that is open, two parts. They go on to change. */
  slots({ from, to, seconds }: { from: number; to: number; seconds: number }, nowMs: number): Slot[] {
    this.#moveOn(nowMs)
    const over = [...(this.#series.get(seconds)?.values() ?? [])]
    const open = { ...this.#open, begins: beginOf(this.#open.begins, seconds) }
    return [...over, open].filter(({ begins }) => begins >= from && begins < to)
  }

  /** A clock that goes back changes nothing until it has caught up. */
  #moveOn(nowMs: number): void {
    const minute = beginOf(nowMs / 1_000, MINUTE)
    if (minute <= this.#open.begins) return
    const over = this.#open
    this.#open = emptySlot(minute)
    for (const [seconds, slots] of this.#series) {
      const begins = beginOf(over.begins, seconds)
      const sum = slots.get(begins)
      if (sum) addSlot(sum, over)
      else if (over.all.requests > 0) slots.set(begins, seconds === MINUTE ? over : copyOf(over, begins))
      const oldest = beginOf(minute, seconds) - KEPT_SLOTS.get(seconds)! * seconds
      for (const known of slots.keys()) if (known <= oldest) slots.delete(known)
    }
  }
}

function copyOf(slot: Slot, begins: number): Slot {
  const copy = emptySlot(begins)
  addSlot(copy, slot)
  return copy
}

function beginOf(timeSeconds: number, seconds: number): number {
  return Math.floor(timeSeconds / seconds) * seconds
}
