/**
 * The bus as services see it: request and reply, job streams with numbered frames, and durable events.
 *
 * Two adapters keep the same promises (one conformance suite runs on both): `nats.ts` between processes, `memory.ts`
 * inside one. The frame protocol (`streams/`) is written once, above the small `Wire` that each adapter provides.
 * Payloads are opaque bytes here; services parse them with the schemas of `contracts`.
 */

export interface Bus extends AsyncDisposable {
  /** This process on the bus; new at every start. */
  readonly processId: string

  /**
   * Sends a request to one member of the group that serves `subject`. Throws {@link NoResponderError}, {@link
   * RemoteError} or {@link BusTimeoutError}.
   */
  request(subject: string, payload: Uint8Array, options: RequestOptions): Promise<Uint8Array>

  /** Serves requests as a member of `group`. When a handler throws, the requester gets a {@link RemoteError}. */
  serve(subject: string, group: string, handler: (payload: Uint8Array) => Promise<Uint8Array>): Promise<AsyncDisposable>

  /** Publishes to every listener that is there now. */
  broadcast(subject: string, payload: Uint8Array): void
  listen(subject: string, handler: (payload: Uint8Array) => void): Promise<AsyncDisposable>

  /** Sends a job to one member of the group that serves `subject` and relays its frames. Never throws. */
  dispatch(job: OutgoingJob, events: JobEvents): JobHandle

  /** Takes jobs as a member of `group`. Disposing takes nothing new; running jobs go on. */
  serveJobs(subject: string, group: string, handler: (job: IncomingJob) => void): Promise<AsyncDisposable>

  readonly durable: DurableEvents
  readonly kept: KeptValues

  /** Resolves when all that was published has left this process. */
  flush(): Promise<void>
}

/** Events that outlive every process. */
export interface DurableEvents {
  /**
   * Resolves when the event is stored (`memory`: when its consumers have committed it). Rejects with
   * {@link NotStoredError} when that is not known within `timeoutMs`; the bus goes on trying, so that the event is
   * delivered at least once.
   */
  publish(subject: string, payload: Uint8Array, options: { timeoutMs: number }): Promise<void>

  /** False while events are not acknowledged, for longer than an election takes. New work should be refused then. */
  isHealthy(): boolean

  /**
   * Consumes a durable subject, at least once and in batches, shared by all processes that name the same consumer. A
   * handler that throws gets the batch again, after a growing pause.
   */
  consume(options: DurableConsumer): Promise<AsyncDisposable>
}

/** The last value of each subject, which outlives every process of a cluster. */
export interface KeptValues {
  /** Resolves when the value stands in place of the former one. */
  write(subject: string, payload: Uint8Array, options: { timeoutMs: number }): Promise<void>
  /** Null where nobody has written one. Rejects where that is not known within `timeoutMs`. */
  read(subject: string, options: { timeoutMs: number }): Promise<Uint8Array | null>
}

export interface RequestOptions {
  /** For all tries together. */
  timeoutMs: number
  /**
   * The bus repeats the request for so long while nobody serves the subject: a service that restarts is away for a
   * moment.
   */
  absentForMs?: number
  /**
   * The bus repeats the request for so long while replies fail, so only requests that may be served twice set it.
   * When a store comes back, some processes find it a little later than others.
   */
  failingForMs?: number
  /**
   * Each time that so long has passed without a reply, the bus repeats the request, so only requests that may be
   * served twice set it. The group's queue may have picked a process that is frozen, or whose host is gone.
   */
  silentForMs?: number
}

export interface OutgoingJob {
  subject: string
  /** Small; travels with the first message. */
  header: Uint8Array
  /** Any size; travels in parts above the inline size. */
  body: Uint8Array
  /** No accept within this time: `onUnavailable('timeout')`. */
  acceptTimeoutMs?: number
  /**
   * Dispatches of this job that ended with `timeout`. After one, the bus names a worker that has accepted others of late:
   * the group's queue may pick the same frozen one again.
   */
  timeouts?: number
}

/**
 * Called in order, never re-entrantly. Exactly one of `onEnd`, `onFailure`, `onUnavailable`, `onLost` comes last, and
 * nothing comes after {@link JobHandle.stop}. After a handler that throws comes `onLost`, and the worker is stopped.
 */
export interface JobEvents {
  /** A worker took the job. */
  onAccept?(workerId: string): void
  onHead(head: Uint8Array): void
  onData(bytes: Uint8Array): void
  /**
   * The bus acknowledges the end to the worker only when this promise is settled. Until then the worker keeps the end,
   * and is responsible for the job if this process dies.
   */
  onEnd(end: Uint8Array): void | Promise<void>
  /** The worker's own failure frame. The bus acknowledges it as it does an end. */
  onFailure(failure: Uint8Array): void | Promise<void>
  /** Nobody took the job, or the worker gave it back unserved: dispatch it elsewhere. */
  onUnavailable(reason: 'no_responder' | 'timeout' | 'rejected', detail?: string): void
  /** The worker that took it is gone (heartbeats missed) or forgot it (it restarted). */
  onLost(): void
}

export interface JobHandle {
  /** Counts the data bytes that the reader has taken since the last call; opens the window for more. */
  consumed(bytes: number): void
  /**
   * The reader has left: the worker's `signal` aborts with `stopped`, and the caller waits for the worker's last frame.
   * Until then all events come as before, and all data count as consumed.
   */
  leave(): void
  /** Forgets the stream; the worker's `signal` aborts with `stopped`. */
  stop(): void
}

export interface IncomingJob {
  readonly header: Uint8Array
  /** The body's length. */
  readonly bodyBytes: number
  /** Resolves with the whole body; rejects when the caller is lost or stopped before it came. */
  body(): Promise<Uint8Array>
  /** The dispatching process. */
  readonly callerId: string
  /**
   * Informs the caller that work has begun. First of all, and soon. `atOnce`: before any other work, so that the
   * caller knows of it even if the work blocks this process.
   */
  accept(atOnce?: boolean): void
  /** Gives the job back unserved, instead of `accept`. */
  reject(detail: string): void
  head(head: Uint8Array): void
  /**
   * Undefined where the window is open for more; else a promise, which resolves when it is, and rejects once `signal` has
   * aborted. The bytes are the job’s from then on: the worker must not write there again.
   */
  data(bytes: Uint8Array): Promise<void> | undefined
  /** The last frame; kept and repeated until the caller has acknowledged it or is lost. */
  end(end: Uint8Array): void
  failure(failure: Uint8Array): void
  /**
   * Aborts with a {@link JobAborted} when the caller has left or stopped the job, or is gone. A caller that has left
   * still takes an `end` or a `failure`. The signal does not abort after either of the two.
   */
  readonly signal: AbortSignal
  /** The reason for which `signal` has aborted, or null. A signal costs more than this check. */
  readonly aborted: JobAborted | null
  /** Calls the listener when `signal` aborts. A job has one such listener. */
  onAbort(listener: (aborted: JobAborted) => void): void
  /** Calls the listener once, when the stream of an accepted job is over. */
  onOver(listener: (how: JobOver) => void): void
}

/**
 * `acknowledged`: the caller has taken the last frame in, and is responsible for the job from here on. `stopped`: the
 * caller lives, and has forgotten the stream. `caller_lost`: the caller is gone, perhaps without the last frame.
 */
export type JobOver = 'acknowledged' | AbortCause

export type AbortCause = 'stopped' | 'caller_lost'

export class JobAborted extends Error {
  readonly abortCause: AbortCause
  constructor(abortCause: AbortCause) {
    super(`the job was aborted: ${abortCause}`)
    this.name = 'JobAborted'
    this.abortCause = abortCause
  }
}

export interface DurableConsumer {
  stream: string
  subject: string
  consumer: string
  maxBatch: number
  /** One event at a time in all processes together: nobody sees an event before those before it are committed. */
  inOrder?: boolean
  handler(batch: DurableMessage[]): Promise<void>
}

export interface DurableMessage {
  payload: Uint8Array
  /** Position in the stream, for logs. */
  sequence: number
  redelivered: boolean
}

export class NoResponderError extends Error {
  override name = 'NoResponderError'
}
export class BusTimeoutError extends Error {
  override name = 'BusTimeoutError'
}
export class RemoteError extends Error {
  override name = 'RemoteError'
}
export class NotStoredError extends Error {
  override name = 'NotStoredError'
}

/** Events of a service's bus, for its log. */
export type BusStatus =
  /** The first connection is being tried; `error` is why the last try failed. */
  | { type: 'connecting'; error: unknown }
  | { type: 'connected'; server: string }
  | { type: 'disconnected' }
  | { type: 'reconnected'; server: string }
  /** This process stood still; its peers' silence during that time is not held against them. */
  | { type: 'pause'; stoodStillMs: number }
  /** Something that should not happen and that the bus went on after. */
  | { type: 'error'; error: unknown; during: string }

export type OnStatus = (status: BusStatus) => void
