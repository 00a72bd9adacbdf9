/**
 * A job as a caller holds it, without a bus: the frames that the router sends back, and the caller's ways to end it.
 */

import { JobAborted, type IncomingJob, type JobOver } from '@gateway/bus/port'
import type { ResponseEnd, ResponseFailure, ResponseHead, JobHeader } from '@gateway/contracts/job'
import { randomBytes } from 'node:crypto'

export interface FakeJob {
  job: IncomingJob
  accepted: boolean
  rejected: string | null
  head: ResponseHead | null
  /** All data so far, as text. */
  text(): string
  bytes(): Buffer
  end: ResponseEnd | null
  failure: ResponseFailure | null
  /** Resolves at end, failure or rejection. */
  over: Promise<void>
  /** Resolves at the first data. */
  begun: Promise<void>
  /** The caller's client has left. The caller waits for the last word. */
  leave(): void
  /** The caller has forgotten the stream, or is gone: no frame reaches it any more. */
  abort(cause: Exclude<JobOver, 'acknowledged'>): void
  /** While held, `data()` waits: a slow client. */
  hold(): void
  release(): void
}

export function headerOf(overrides: Partial<JobHeader> = {}): JobHeader {
  return {
    requestId: uuidV7(),
    attempt: 1,
    kind: 'chat',
    remainingMs: 60_000,
    configRevision: 'r1',
    pool: 'spark',
    needs: ['chat'],
    stream: false,
    includeUsage: false,
    promptTokensEstimate: 11,
    account: 'acc',
    keyId: 'key00001',
    plan: 'free',
    unit: 'tokens',
    window: '2026-11',
    modelAsked: 'svc-instant',
    lane: 'svc-instant',
    price: { kind: 'multiplier', milliTokensPerToken: 1000 },
    startedAtMs: Date.now(),
    ...overrides,
  }
}

export function fakeJob(
  header: JobHeader,
  body: object = { messages: [{ role: 'user', content: 'Say hello' }] },
): FakeJob {
  const abort = new AbortController()
  const over = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const requested = Buffer.from(JSON.stringify(body))
  const data: Buffer[] = []
  let reportOver: (how: JobOver) => void = () => {}
  let isOver = false
  let gate = Promise.withResolvers<void>()
  gate.resolve()
  const state: FakeJob = {
    accepted: false,
    rejected: null,
    head: null,
    end: null,
    failure: null,
    text: () => Buffer.concat(data).toString('utf8'),
    bytes: () => Buffer.concat(data),
    over: over.promise,
    begun: begun.promise,
    leave: () => abort.abort(new JobAborted('stopped')),
    abort(cause) {
      isOver = true
      if (!state.end && !state.failure) abort.abort(new JobAborted(cause))
      reportOver(cause)
    },
    hold: () => (gate = Promise.withResolvers<void>()),
    release: () => gate.resolve(),
    job: {
      header: Buffer.from(JSON.stringify(header)),
      bodyBytes: requested.length,
      body: () => Promise.resolve(requested),
      callerId: 'edge-1',
      signal: abort.signal,
      get aborted() {
        return abort.signal.aborted ? (abort.signal.reason as JobAborted) : null
      },
      onAbort: (listener) =>
        abort.signal.addEventListener('abort', () => listener(abort.signal.reason as JobAborted), { once: true }),
      onOver: (listener) => void (reportOver = listener),
      accept() {
        state.accepted = true
      },
      reject(detail) {
        state.rejected = detail
        over.resolve()
      },
      head(head) {
        if (state.head) throw new Error('a second head')
        state.head = JSON.parse(Buffer.from(head).toString()) as ResponseHead
      },
      async data(bytes) {
        abort.signal.throwIfAborted()
        if (!state.head) throw new Error('data before the head')
        data.push(Buffer.from(bytes))
        begun.resolve()
        await Promise.race([
          gate.promise,
          new Promise((_, reject) => abort.signal.addEventListener('abort', () => reject(abort.signal.reason))),
        ])
      },
      end(end) {
        if (isOver) return
        state.end = JSON.parse(Buffer.from(end).toString()) as ResponseEnd
        over.resolve()
      },
      failure(failure) {
        if (isOver) return
        state.failure = JSON.parse(Buffer.from(failure).toString()) as ResponseFailure
        over.resolve()
      },
    },
  }
  return state
}

function uuidV7(): string {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(Date.now(), 0, 6)
  bytes[6] = (bytes[6]! & 0x0f) | 0x70
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
