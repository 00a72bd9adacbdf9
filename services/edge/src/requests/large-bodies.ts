/**
 * Reads large bodies on threads of their own, so that no other request waits for their parsing.
 *
 * Senders take turns. A sender that fills the queue gives way to others and gets a 429. A body that waits for longer than
 * {@link LONGEST_WAIT_MS} gets a 503 then. A thread that dies fails the body that it read, and the next body starts another.
 *
 * The first thread begins with the edge: its start takes 0.2 s of a core. With the first large body, the p99 of neighbours
 * rose from 16 to 140 ms on one core (`dev/bench/beside`).
 */

import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { GatewayConfig, ModelConfig } from '@gateway/contracts/config'
import { GatewayError } from '@gateway/contracts/errors'
import { createFairQueue, type Waiter } from '@gateway/in-flight/fair-queue'
import { windowOf } from '../core/lane-window.ts'
import { rateLimited } from '../core/rate-limited.ts'
import type { InferenceKind } from './inference-kinds.ts'
import { nameOf } from './kinds.ts'
import { type ReadingConfig, unpackRequest } from './pack-request.ts'
import type { LargeJson } from './parse-json.ts'
import { type Done, orThrow, type Read, type Reading, type Wanted } from './read-large.ts'
import type { Understood } from './understand.ts'
import type { countTokens } from './messages.ts'

/** The request that has a body read. */
export interface ThreadUser {
  readonly sender: string
  /** Its body took so much of a core. */
  usedThread(ms: number): void
}

export interface LargeBodies extends AsyncDisposable {
  understand(config: GatewayConfig, kind: InferenceKind, body: LargeJson, user: ThreadUser): Promise<Understood>
  countTokens(config: GatewayConfig, body: LargeJson, user: ThreadUser): Promise<ReturnType<typeof countTokens>>
}

/** One core at least is the event loop's. */
const MOST_THREADS = Math.max(1, Math.min(4, availableParallelism() - 1))
const MOST_WAITING = 256
const LONGEST_WAIT_MS = 2_000
const RETRY_AFTER_MS = 1_000

interface Waiting extends Waiter {
  user: ThreadUser
  reading: Omit<Reading, 'config'>
  config: GatewayConfig
  timer: NodeJS.Timeout
  resolve(read: Read): void
  reject(error: unknown): void
}

interface Thread {
  worker: Worker
  /** The config that it knows. */
  config: GatewayConfig | null
  reads: Waiting | null
}

type CountShed = (reason: 'sender_full' | 'late') => void

export function openLargeBodies(countShed: CountShed, longestWaitMs = LONGEST_WAIT_MS): LargeBodies {
  const queue = createFairQueue<Waiting>(MOST_WAITING, giveWay)
  const threads = new Set<Thread>()

  function giveWay(waiting: Waiting): void {
    clearTimeout(waiting.timer)
    countShed('sender_full')
    waiting.reject(rateLimited('requests', RETRY_AFTER_MS))
  }

  function wait(config: GatewayConfig, wanted: Wanted['kind'], body: LargeJson, user: ThreadUser): Promise<Read> {
    const { promise, resolve, reject } = Promise.withResolvers<Read>()
    const leave = () => {
      queue.remove(waiting)
      countShed('late')
      const sentence = 'The gateway has more large requests than it can read; try again shortly'
      reject(new GatewayError('SERVICE_UNAVAILABLE', sentence, { retryAfterMs: RETRY_AFTER_MS }))
    }
    const timer = setTimeout(leave, longestWaitMs)
    const waiting: Waiting = {
      account: user.sender,
      user,
      reading: { wanted, bytes: body.bytes },
      config,
      timer,
      resolve,
      reject,
    }
    if (queue.add(waiting)) work()
    else giveWay(waiting)
    return promise
  }

  function work(): void {
    for (let thread = idleThread(); thread; thread = idleThread()) {
      const next = queue.take(() => true)
      if (!next) return
      clearTimeout(next.timer)
      thread.reads = next
      const isKnown = thread.config === next.config
      thread.config = next.config
      const reading: Reading = { ...next.reading, config: isKnown ? null : readingConfig(next.config) }
      thread.worker.postMessage(reading, [reading.bytes.buffer])
    }
  }

  function idleThread(): Thread | undefined {
    const idle = threads.values().find(({ reads }) => reads === null)
    return idle ?? (threads.size < MOST_THREADS && queue.size > 0 ? startThread() : undefined)
  }

  function startThread(): Thread {
    const worker = new Worker(new URL('large-body-worker.ts', import.meta.url), { name: 'large bodies' })
    // It keeps no process alive; a request that waits for it does.
    worker.unref()
    const thread: Thread = { worker, config: null, reads: null }
    threads.add(thread)
    worker.on('message', ({ read, tookMs }: Done) => {
      thread.reads?.user.usedThread(tookMs)
      thread.reads?.resolve(read)
      thread.reads = null
      work()
    })
    const lost = (cause: unknown) => {
      if (!threads.delete(thread)) return
      thread.reads?.reject(new Error('the thread that read a large body was lost', { cause }))
      work()
    }
    worker.on('error', lost)
    worker.on('exit', lost)
    return thread
  }

  startThread()

  return {
    async understand(config, kind, body, user) {
      const read = orThrow(await wait(config, nameOf(kind), body, user))
      if (!('packed' in read)) throw new Error('a worker counted where it should have read')
      return unpackRequest(read.packed, modelOf(config, read.packed.modelId))
    },

    async countTokens(config, body, user) {
      const read = orThrow(await wait(config, 'count_tokens', body, user))
      if (!('counted' in read)) throw new Error('a worker read where it should have counted')
      return read.counted
    },

    async [Symbol.asyncDispose]() {
      const workers = [...threads].map(({ worker }) => worker)
      threads.clear()
      await Promise.all(workers.map((worker) => worker.terminate()))
    },
  }
}

function modelOf({ models }: GatewayConfig, id: string): ModelConfig {
  return models.find((model) => model.id === id)!
}

function readingConfig(config: GatewayConfig): ReadingConfig {
  const served = config.models.filter((model) => model.type !== 'auto')
  return { models: config.models, windows: new Map(served.map((lane) => [lane.id, windowOf(config, lane)])) }
}
