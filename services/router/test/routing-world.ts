/**
 * Routers over simulated backends, whole but for the bus: jobs go into `serveJob`, and everything from there to the
 * exchange is the product's own. Time is the process', which a test replaces and moves.
 */

import type { Bus } from '@gateway/bus/port'
import type { BackendControl } from '@gateway/contracts/routers-api'
import { InFlightList } from '@gateway/in-flight/collections'
import type { ClientDialect, TargetDialect } from '@gateway/contracts/vendors'
import type { Logger } from '@gateway/telemetry/logger'
import { createMetrics } from '@gateway/telemetry/metrics'
import { NO_TRACING } from '@gateway/telemetry/tracing'
import { isFull, isUsable, openBackendRegistry, type Backend, type Target } from '../src/backend-registry.ts'
import { serveJob } from '../src/handlers/serve-job.ts'
import { routerMetrics } from '../src/metrics.ts'
import { ResponseMemory, LARGEST_RESPONSE_BYTES } from '../src/response-memory.ts'
import { openConcurrencyLimiter } from '../src/concurrency-limiter.ts'
import { openProbes } from '../src/probes.ts'
import { openStateSecrets } from '../src/state-secrets.ts'
import type { RouterContext } from '../src/router-context.ts'
import { openShortageReports } from '../src/report-to-operator.ts'
import { fakeJob, headerOf, type FakeJob } from './fake-job.ts'
import { configOf } from './router-under-test.ts'
import { SimulatedNetwork, type Options } from './simulated-network.ts'

export const FIRST_BYTE_MS = 3_000
export const LONG_MS = 600_000

export interface Plan {
  backends: { maxConcurrent: number; priority: number; speaks: TargetDialect[]; headers?: Record<string, string> }[]
  routers: number
}

export interface SentJob {
  job: FakeJob
  requestId: string
  router: number
  pool: string
  account: string
  isPoison: boolean
  sentAtMs: number
  remainingMs: number
  left: boolean
}

export interface Sending {
  stream: boolean
  /** The client's; `chat` where it is left out. */
  dialect?: ClientDialect
  pool?: string
  account?: string
  remainingMs?: number
}

const quiet = { debug() {}, info() {}, warn() {}, error() {} } as unknown as Logger

export class World {
  readonly network = new SimulatedNetwork()
  readonly routers: RouterContext[]
  readonly open = new Set<SentJob>()
  /** Events that must not happen, and did. */
  readonly broken: string[] = []
  #isMerelySlow: boolean
  readonly #probes: Disposable[] = []
  /** The requests that each router had at each backend, and those that each backend had. */
  #counted = new Map<string, number>()
  /** All that any config has had. */
  readonly #backends = new Set<Backend>()
  readonly #plan: Plan
  #reloads = 0
  #controls = new Map<string, BackendControl>()
  /** When an operator restored a drained backend last. */
  #restoredAtMs = new Map<string, number>()
  #sent = 0

  /** `isMerelySlow`: backends may be late, but none of them ever fails. */
  constructor(plan: Plan, { isMerelySlow = false } = {}) {
    this.#isMerelySlow = isMerelySlow
    this.#plan = { ...plan, backends: [...plan.backends] }
    this.routers = Array.from({ length: plan.routers }, () => this.#openRouter(plan))
    this.share(0)
  }

  #openRouter({ backends }: Plan): RouterContext {
    const metrics = routerMetrics(createMetrics({ service: 'router' }))
    const backendRegistry = openBackendRegistry({}, this.network.connect)
    backendRegistry.apply(configOver(backends))
    const limiter = openConcurrencyLimiter(() => probes.watch())
    const probes = openProbes(backendRegistry, limiter, metrics)
    this.#probes.push(probes)
    return {
      bus: {} as Bus,
      logger: quiet,
      backendRegistry,
      limiter,
      tokens: {
        count: (text) => Promise.resolve(text.length),
        textsOf: () => Promise.resolve([]),
        close: () => Promise.resolve(),
      },
      stateSecrets: openStateSecrets({} as Bus, quiet),
      reports: { report() {}, finished: () => Promise.resolve() },
      responseMemory: new ResponseMemory(LARGEST_RESPONSE_BYTES),
      subscriptions: { takes: () => true, limit: Infinity, [Symbol.dispose]() {} },
      metrics,
      shortages: openShortageReports(quiet),
      tracer: NO_TRACING,
      draining: false,
      expired: false,
      jobs: new InFlightList(),
    }
  }

  /** So many routers live beside these. */
  share(others: number): void {
    const of = this.routers.length + others
    for (const [index, { backendRegistry, limiter }] of this.routers.entries()) {
      backendRegistry.setShare({ index, of, held: {} })
      limiter.wakeAll()
    }
  }

  /** A new config for all routers: one backend has other headers, and another limit. */
  reload(index: number, maxConcurrent: number): void {
    const version = { 'x-config': String(++this.#reloads) }
    const at = index % this.#plan.backends.length
    this.#plan.backends[at] = { ...this.#plan.backends[at]!, maxConcurrent, headers: version }
    for (const { backendRegistry, limiter } of this.routers) {
      backendRegistry.apply(configOver(this.#plan.backends))
      limiter.wakeAll()
    }
  }

  /** An operator's word, which every router has at once; undefined restores. */
  control(id: string, control: BackendControl | undefined): void {
    if (this.#controls.get(id) === 'drained' && control !== 'drained') this.#restoredAtMs.set(id, performance.now())
    if (control === undefined) this.#controls.delete(id)
    else this.#controls.set(id, control)
    for (const { backendRegistry, limiter } of this.routers) {
      backendRegistry.setControls(new Map(this.#controls))
      limiter.wakeAll()
    }
  }

  /** An operator kept new requests from it at some time since. */
  #wasDrained({ backend }: Target, sinceMs: number): boolean {
    const { id } = backend.config
    return this.#controls.get(id) === 'drained' || (this.#restoredAtMs.get(id) ?? -Infinity) >= sinceMs
  }

  send(router: number, options: Options, sending: Sending): SentJob {
    const { stream, dialect = 'chat', pool = 'all', account = 'a', remainingMs = LONG_MS } = sending
    const header = headerOf({ stream, dialect, includeUsage: dialect === 'messages', pool, account, remainingMs })
    const content = JSON.stringify({ number: this.#sent++, ...options })
    const job = fakeJob(header, { messages: [{ role: 'user', content }] })
    const { requestId } = header
    const sent: SentJob = {
      job,
      requestId,
      router,
      pool,
      account,
      isPoison: options.poison !== undefined,
      sentAtMs: performance.now(),
      remainingMs,
      left: false,
    }
    this.open.add(sent)
    serveJob(this.routers[router]!, job.job)
    void job.over.then(() => {
      this.open.delete(sent)
      this.#judgeEnd(sent)
    })
    return sent
  }

  leave(sent: SentJob): void {
    sent.left = true
    this.open.delete(sent)
    sent.job.abort('stopped')
  }

  targets(router: number, pool: string): Target[] {
    return this.routers[router]!.backendRegistry.pool(pool)!.targets
  }

  isWell(target: Target, sinceMs: number): boolean {
    return this.network.backends.get(target.backend.config.id)!.wellSinceMs <= sinceMs
  }

  /** A job that failed before its first content, with time left, beside a target that was well all the while. */
  #judgeEnd({ job, router, pool, isPoison, sentAtMs, remainingMs, left }: SentJob): void {
    const isAlone = this.targets(router, pool).length === 1
    if (this.#isMerelySlow && isAlone && (job.end?.attempts.length ?? 0) > 1) {
      this.broken.push('the only target of a pool that is slow was given up')
    }
    if (!job.failure || job.head || left || isPoison) return
    if (performance.now() >= sentAtMs + remainingMs - 1_000) return
    if (this.#isMerelySlow && job.failure.attempted.length > 0) this.broken.push('a job failed in a pool that is slow')
    for (const target of this.targets(router, pool)) {
      if (!this.isWell(target, sentAtMs) || isFull(target.backend) || this.#wasDrained(target, sentAtMs)) continue
      this.broken.push(`a job failed with ${job.failure.code} beside ${target.key}, which was well and had a place`)
    }
  }

  /** Jobs that have not been given to a backend yet. */
  waiting(): SentJob[] {
    return [...this.open].filter((sent) => !this.network.attempts.has(sent.requestId))
  }

  /** Between two events: checks for every fault of this moment. */
  judge(): void {
    const nowMs = performance.now()
    for (const sent of this.waiting()) {
      for (const target of this.targets(sent.router, sent.pool)) {
        // A timer may be a millisecond late.
        if (!isUsable(target, nowMs - 1, sent.account) || isFull(target.backend)) continue
        this.broken.push(`a job waits beside ${target.key}, which is usable and has a place`)
      }
    }
    if (this.#isMerelySlow) this.#judgeSlowPool(nowMs)
    this.#judgeLimits()
    this.broken.push(...this.network.afterClose.splice(0).map((id) => `${id} got a request after its config was gone`))
    this.#judgeUnharmed(nowMs)
  }

  /** One client sends poison: a backend that has failed at nothing else is there for the others. */
  #judgeUnharmed(nowMs: number): void {
    for (const router of this.routers.keys()) {
      for (const target of this.targets(router, 'all')) {
        const { wasAlwaysWell } = this.network.backends.get(target.backend.config.id)!
        if (!wasAlwaysWell || target.backend.control !== undefined || isUsable(target, nowMs, 'a')) continue
        this.broken.push(`${target.key} has always been well, and is out for those who send no poison`)
      }
    }
  }

  #judgeSlowPool(nowMs: number): void {
    for (const router of this.routers.keys()) {
      if (!this.targets(router, 'all').some((target) => isUsable(target, nowMs))) {
        this.broken.push('a pool that is slow has ejected itself')
      }
    }
  }

  /** A smaller limit or share does not stop running jobs, but none may be added. */
  #judgeLimits(): void {
    for (const [index, { backendRegistry }] of this.routers.entries()) {
      for (const backend of backendRegistry.backends()) {
        this.#backends.add(backend)
        const { id } = backend.config
        const { outstanding, slots } = backend.capacity
        const most = Math.max(1, slots)
        // With several routers, no one knows whose requests these are.
        const { running } = this.network.backends.get(id)!
        const isMoreThere = this.#hasGrown(id, running) && this.routers.length === 1
        const isMore = this.#hasGrown(`${index} ${id}`, outstanding)
        if (isMore && this.#controls.get(id) === 'drained') this.broken.push(`${id} is drained and got a request`)
        if ((isMore && outstanding > most) || (isMoreThere && running > most))
          this.broken.push(`${id} has ${outstanding} or ${running} requests of a router that has ${most} slots there`)
      }
    }
  }

  #hasGrown(what: string, count: number): boolean {
    const before = this.#counted.get(what) ?? 0
    this.#counted.set(what, count)
    return count > before
  }

  /** Every client has left, and a while has passed. */
  judgeSlots(): void {
    for (const { config, capacity } of this.#backends)
      if (capacity.outstanding !== 0)
        this.broken.push(`${config.id} has ${capacity.outstanding} slots that nobody gives back`)
    for (const [index, { limiter, jobs }] of this.routers.entries())
      if (limiter.waiting + jobs.size > 0) this.broken.push(`router ${index} still has jobs`)
  }

  async close(): Promise<void> {
    for (const sent of this.open) this.leave(sent)
    for (const probes of this.#probes) probes[Symbol.dispose]()
    for (const { backendRegistry } of this.routers) await backendRegistry.close()
  }
}

/** Pool `all` has every backend; pool `first` another model of the first one. */
function configOver(backends: Plan['backends']) {
  const timeouts = { connectMs: 1_000, firstByteMs: FIRST_BYTE_MS, idleMs: 5_000 }
  const ids = backends.map((_, i) => `b${i}`)
  return configOf(
    backends.map(({ maxConcurrent, speaks: dialects, headers = {} }, i) => {
      return { id: ids[i], url: `http://${ids[i]}/v1`, dialects, timeouts, maxConcurrent, headers }
    }),
    [
      { id: 'all', targets: backends.map(({ priority }, i) => ({ backend: ids[i], model: 'm', priority })) },
      { id: 'first', targets: [{ backend: ids[0], model: 'other', priority: 1 }] },
    ],
  )
}
