/** Jobs and responses as the suite's tests see them: recorded callers, and bytes that differ by their place. */

import type { Bus, IncomingJob, JobEvents, JobHandle, OutgoingJob } from '../port.ts'

export const text = (value: string): Uint8Array => Buffer.from(value)
export const read = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

/** `length` bytes that differ everywhere and from every other `seed`. */
export function patterned(length: number, seed: number): Buffer {
  const words = new Uint32Array(Math.ceil(length / 4))
  let state = (seed * 2654435761 + 1) >>> 0
  for (let i = 0; i < words.length; i++) words[i] = state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return Buffer.from(words.buffer, 0, length)
}

export interface RecordedResponse {
  log: string[]
  chunks: Uint8Array[]
  bytes: number
  workerId: string | undefined
  handle: JobHandle
  /** Resolves with the last thing that happened: `end …`, `failure …`, `unavailable …` or `lost`. */
  over: Promise<string>
}

/** Dispatches a job and records its response. Reads everything at once unless `read` says otherwise. */
export function dispatchJob(
  bus: Bus,
  job: Partial<OutgoingJob> & { subject: string },
  options: {
    read?: boolean
    onData?(response: RecordedResponse, bytes: Uint8Array): void
    takeIn?: () => Promise<void>
  } = {},
): RecordedResponse {
  const { promise, resolve } = Promise.withResolvers<string>()
  const finish = (last: string) => {
    response.log.push(last)
    resolve(last)
  }
  const events: JobEvents = {
    onAccept(workerId) {
      response.workerId = workerId
      response.log.push('accept')
    },
    onHead: (head) => void response.log.push(`head ${read(head)}`),
    onData(bytes) {
      response.chunks.push(bytes)
      response.bytes += bytes.length
      if (options.read !== false) response.handle.consumed(bytes.length)
      options.onData?.(response, bytes)
    },
    onEnd(end) {
      finish(`end ${read(end)}`)
      return options.takeIn?.()
    },
    onFailure(failure) {
      finish(`failure ${read(failure)}`)
      return options.takeIn?.()
    },
    onUnavailable: (reason, detail) => finish(`unavailable ${reason}${detail === undefined ? '' : ` ${detail}`}`),
    onLost: () => finish('lost'),
  }
  const response = { log: [], chunks: [], bytes: 0, workerId: undefined, over: promise } as unknown as RecordedResponse
  response.handle = bus.dispatch({ header: text('header'), body: text('body'), ...job }, events)
  return response
}

/** Serves jobs with work that may take its time. */
export function serveJobs(
  bus: Bus,
  subject: string,
  work: (job: IncomingJob) => void | Promise<void>,
): Promise<AsyncDisposable> {
  return bus.serveJobs(subject, 'routers', (job) => void work(job))
}

export function allBytes(response: RecordedResponse): Buffer {
  return Buffer.concat(response.chunks)
}

/** Waits until `condition` holds; fails after `timeoutMs`. */
export async function until(condition: () => boolean, timeoutMs = 60_000): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs
  while (!condition()) {
    if (performance.now() > deadlineMs) throw new Error(`not so within ${timeoutMs} ms: ${condition.toString()}`)
    await sleep(5)
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
