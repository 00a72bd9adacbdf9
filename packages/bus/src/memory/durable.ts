/**
 * Durable events of the memory bus: kept until every consumer of their stream has committed them.
 *
 * Nothing survives the process, so publishing resolves at the commit and not before.
 */

import type { BusCounters, BusMeasures } from '../counters.ts'
import { retryDelayMs, takesSubject, type Durable, type DurableStream } from '../durable.ts'
import { NotStoredError, type DurableConsumer, type DurableMessage } from '../port.ts'

export interface DurableStore {
  /** Resolves when all consumers have committed the event; null when no stream takes the subject. */
  publish(subject: string, payload: Uint8Array): Promise<void> | null
  register(options: DurableConsumer): AsyncDisposable
}

interface StoredEvent {
  subject: string
  message: DurableMessage
  uncommitted: number
  committed: PromiseWithResolvers<void>
}

/** The events that one consumer has still to commit; its members take turns. */
interface Backlog {
  waiting: StoredEvent[]
  /** Batches that failed since one was committed. */
  failures: number
  members: Set<Member>
}

interface Member {
  options: DurableConsumer
  running: Promise<void> | undefined
}

interface StoredStream {
  definition: DurableStream
  lastSequence: number
  backlogs: Map<string, Backlog>
}

export function createDurableStore(definitions: readonly DurableStream[]): DurableStore {
  const streams = definitions.map((definition): StoredStream => {
    const backlogs = definition.consumers.map((name): [string, Backlog] => {
      return [name, { waiting: [], failures: 0, members: new Set() }]
    })
    return { definition, lastSequence: 0, backlogs: new Map(backlogs) }
  })

  return {
    publish(subject, payload) {
      const stream = streams.find(({ definition }) =>
        definition.subjects.some((pattern) => takesSubject(pattern, subject)),
      )
      if (stream === undefined) return null
      // Nothing outlives this process, so an event that nobody in it consumes is done with.
      if (stream.backlogs.size === 0) return Promise.resolve()
      const event: StoredEvent = {
        subject,
        message: { payload, sequence: ++stream.lastSequence, redelivered: false },
        uncommitted: stream.backlogs.size,
        committed: Promise.withResolvers<void>(),
      }
      for (const backlog of stream.backlogs.values()) {
        backlog.waiting.push(event)
        scheduleWork(backlog)
      }
      return event.committed.promise
    },

    register(options) {
      const stream = streams.find(({ definition }) => definition.name === options.stream)
      const backlog = stream?.backlogs.get(options.consumer)
      if (backlog === undefined) {
        throw new Error(`the stream ${options.stream} is not defined with a consumer ${options.consumer}`)
      }
      const member: Member = { options, running: undefined }
      backlog.members.add(member)
      scheduleWork(backlog)
      return {
        async [Symbol.asyncDispose]() {
          backlog.members.delete(member)
          await member.running
        },
      }
    },
  }
}

/** Later, so that the events of one turn of the event loop travel as one batch. */
function scheduleWork(backlog: Backlog): void {
  if (backlog.waiting.length > 0) setImmediate(work, backlog)
}

function work(backlog: Backlog): void {
  for (const member of backlog.members) {
    if (backlog.waiting.length === 0) return
    if (member.options.inOrder && [...backlog.members].some(({ running }) => running !== undefined)) return
    if (member.running !== undefined) continue
    const batch = backlog.waiting.splice(0, member.options.inOrder ? 1 : member.options.maxBatch)
    // The one that worked goes to the end of the line.
    backlog.members.delete(member)
    backlog.members.add(member)
    member.running = handle(backlog, member, batch).finally(() => {
      member.running = undefined
      scheduleWork(backlog)
    })
  }
}

async function handle(backlog: Backlog, member: Member, batch: StoredEvent[]): Promise<void> {
  const wanted = batch.filter((event) => takesSubject(member.options.subject, event.subject))
  try {
    if (wanted.length > 0) await member.options.handler(wanted.map((event) => ({ ...event.message })))
    backlog.failures = 0
    for (const event of batch) if (--event.uncommitted === 0) event.committed.resolve()
  } catch {
    for (const event of batch) event.message.redelivered = true
    await new Promise((resolve) => setTimeout(resolve, retryDelayMs(++backlog.failures)))
    backlog.waiting.unshift(...batch)
  }
}

const UNHEALTHY_AFTER_MS = 2_000

/** The durable half of one handle on the bus. */
export function memoryDurable(store: DurableStore, counters: BusCounters, measures: BusMeasures): Durable {
  /** When each event that is not committed was published, oldest first. */
  const pending = new Map<symbol, number>()

  return {
    isHealthy() {
      const [oldest] = pending.values()
      return oldest === undefined || performance.now() - oldest < UNHEALTHY_AFTER_MS
    },

    async publish(subject, payload, { timeoutMs }) {
      const committed = store.publish(subject, Buffer.from(payload))
      if (committed === null) throw new NotStoredError(`no stream of this hub takes ${subject}`)
      const id = Symbol()
      const publishedAtMs = performance.now()
      pending.set(id, publishedAtMs)
      counters.durablePending++
      const handled = committed.then(() => {
        pending.delete(id)
        counters.durablePending--
        counters.durableAcknowledged++
        measures.acknowledged(performance.now() - publishedAtMs)
      })
      await within(handled, timeoutMs, subject)
    },

    consume: async (options) => store.register(options),

    async [Symbol.asyncDispose]() {},
  }
}

async function within(committed: Promise<void>, timeoutMs: number, subject: string): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => reject(new NotStoredError(`${subject} not committed within ${timeoutMs} ms`)),
    timeoutMs,
  )
  // An event that nobody commits any more does not keep a process that is done.
  timer.unref()
  try {
    await Promise.race([committed, promise])
  } finally {
    clearTimeout(timer)
  }
}
