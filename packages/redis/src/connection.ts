/**
 * A connection to Redis that runs scripts, knows the incarnation of its server, and never keeps a caller
 * waiting.
 *
 * Each connection reads the epoch again before any script, and a script is only ever sent on the connection whose
 * epoch it carries. So state that a restart or a failover may have lost is never taken for current. A call that gets
 * no reply in time rejects with the error that its caller's port promises. While there is no connection, calls reject
 * at once. Nothing is queued or sent again. Reconnects for ever.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { Redis, type RedisOptions } from 'ioredis'
import { createResponseDeadlines, LONGEST_TIMEOUTS } from './response-deadlines.ts'
import type { Script } from './script.ts'
import { isSentinelAddress, readSentinelAddress } from './sentinel-address.ts'
import { watchFailover } from './watch-failover.ts'

const FIRST_PAUSE_MS = 20
const LONGEST_PAUSE_MS = 500
/** Opening waits for Redis for so long; later than this it becomes available on its own. */
export const OPENING_MS = 2_000

/** One connection, from ready to closed. */
interface Session {
  readonly epoch: string
}

export type Arguments = (string | number | Buffer)[]

export interface ScriptConnection extends AsyncDisposable {
  /** The part of the store that holds the key: a name to compare. Keys of one part are away together. */
  partOf(key: string): string
  /**
   * The incarnation of the server that replies now, for this key where there are several. Rejects while there is
   * none.
   */
  epoch(key?: string): Promise<string>
  /** Runs a script with the keys; the epoch goes before the arguments. With `expectedEpoch`, in that incarnation only. */
  run(script: Script, keys: string[], args: Arguments, expectedEpoch?: string): Promise<unknown>
  /** The server's clock. */
  timeMs(key?: string): Promise<number>
}

export interface ConnectionOptions {
  url: string
  /** A call without a reply rejects after this long, or after four times as long where it waits behind others. */
  timeoutMs: number
  /** The store's subject, for messages and for Redis' list of its clients. */
  store: string
  /** Creates the error of calls that were not served, so that no port has to translate. */
  Unavailable: new (message: string, options?: ErrorOptions) => Error
  /** Those that will be run: each connection makes them known first. */
  scripts: readonly Script[]
  /** Strings in replies come as buffers. */
  binary?: boolean
}

export interface OpeningConnection extends ScriptConnection {
  /** Resolves when it serves calls for the first time. */
  readonly opened: Promise<void>
  command(name: string, ...args: string[]): Promise<unknown>
  /** `run` on a node to which another node of the cluster redirected the call (`ASK`), while the slot is on its way. */
  runOnImporting(script: Script, keys: string[], args: Arguments): Promise<unknown>
  /** The server has lost keys, maybe all: before the next script, its incarnation is read again. */
  doubt(): void
}

/** Away is no reason not to start: calls reject until it is back. */
export async function connect(options: ConnectionOptions): Promise<ScriptConnection> {
  const connection = openConnection(options)
  await atMost(OPENING_MS, connection.opened)
  return connection
}

/** Resolves when it is done, or after so long. A process that ends does not wait for it. */
export async function atMost(timeMs: number, done: Promise<unknown>): Promise<void> {
  await Promise.race([done, delay(timeMs, undefined, { ref: false })])
}

export function openConnection(options: ConnectionOptions): OpeningConnection {
  let session: Session | null = null
  let lastError: unknown
  /** Connections since the last one that served calls. */
  let attempts = 0
  let checking: Promise<void> | null = null
  const firstSession = Promise.withResolvers<void>()
  const client = createClient(options, () => pauseMs(attempts++))
  // The client's own `socketTimeout` would end it before it reads the replies that came while this process stood still.
  const deadlines = createResponseDeadlines(options.timeoutMs, (silentMs) =>
    giveUp(new Error(`Redis was silent for ${silentMs} ms`)),
  )
  const gather = (): void => gatherWrites(client, deadlines.sent)

  /** The present connection serves no more calls; the next one finds out who is there now. */
  const giveUp = (error: unknown): void => {
    session = null
    lastError = error
    // The client's `disconnect` would end it for ever while it queries a Sentinel.
    client.stream?.destroy()
  }
  const failover = isSentinelAddress(options.url)
    ? watchFailover(readSentinelAddress(options.url), () => giveUp(new Error('the Sentinels name another primary')))
    : undefined

  client.on('error', (error) => {
    lastError = error
  })
  client.on('connect', () => {
    deadlines.received()
    client.stream.on('data', deadlines.received)
    // The client checks whether Redis has loaded its data.
    deadlines.sent()
  })
  client.on('close', () => {
    session = null
    lastError ??= new Error('Redis closed the connection')
  })
  client.on('ready', () => {
    session = null
    deadlines.sent()
    openSession(client, options.scripts).then((opened) => {
      session = opened
      attempts = 0
      lastError = undefined
      firstSession.resolve()
    }, giveUp)
  })

  const unavailable = (what: string, reason?: ErrorOptions): Error =>
    new options.Unavailable(`the ${options.store} store ${what}`, reason)

  const current = (): Session => {
    if (session && client.status === 'ready') return session
    throw unavailable('is away', { cause: lastError })
  }

  const evaluate = (how: 'EVALSHA' | 'EVAL', script: string, keys: number, rest: Arguments): Promise<unknown> =>
    options.binary ? client.callBuffer(how, script, keys, ...rest) : client.call(how, script, keys, ...rest)

  /**
   * Makes an importing node serve the slot, for the next command only. Redis' reply says nothing that the script's own
   * reply does not.
   */
  const allowImporting = (): void => void client.asking().catch(() => {})

  async function send(
    on: Session,
    script: Script,
    keys: string[],
    args: Arguments,
    isRedirected: boolean,
  ): Promise<unknown> {
    const rest = [...keys, on.epoch, ...args]
    try {
      gather()
      if (isRedirected) allowImporting()
      return await deadlines.wait(evaluate('EVALSHA', script.sha1, keys.length, rest), (error) => {
        // Forgotten by an operator's SCRIPT FLUSH.
        if (!says(error, 'NOSCRIPT') || session !== on) return null
        if (isRedirected) allowImporting()
        return evaluate('EVAL', script.source, keys.length, rest)
      })
    } catch (cause) {
      // The primary became a replica, or reads another one's data.
      if ((says(cause, 'READONLY') || says(cause, 'LOADING')) && session === on) giveUp(cause)
      const isTooNew = cause instanceof Error && cause.message.includes('NEWERLAYOUT')
      throw unavailable(isTooNew ? 'holds state of a newer version; update this process' : 'did not answer', { cause })
    }
  }

  const doubt = (): void => {
    const doubted = session
    if (!doubted || checking) return
    deadlines.sent()
    checking = readIncarnation(client)
      .then(
        (incarnation) => {
          if (session === doubted && incarnation.epoch !== doubted.epoch) session = incarnation
        },
        (error) => {
          if (session === doubted) giveUp(error)
        },
      )
      .finally(() => (checking = null))
  }

  const undoubted = async (): Promise<Session> => {
    if (checking) await checking
    return current()
  }

  const run: ScriptConnection['run'] = async (script, keys, args, expectedEpoch) => {
    const on = checking ? await undoubted() : current()
    if (expectedEpoch !== undefined && expectedEpoch !== on.epoch) {
      throw unavailable('began another incarnation since the state was read')
    }
    return send(on, script, keys, args, false)
  }

  return {
    opened: firstSession.promise,
    partOf: () => '',
    doubt,
    run,
    runOnImporting: async (script, keys, args) => send(await undoubted(), script, keys, args, true),
    command: async (name, ...args) => {
      current()
      gather()
      return deadlines.wait(client.call(name, ...args))
    },
    epoch: async () => (await undoubted()).epoch,
    timeMs: async () => {
      current()
      gather()
      const [seconds, microseconds] = await deadlines.wait(client.time()).catch((cause: unknown) => {
        throw unavailable('did not answer', { cause })
      })
      return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000)
    },
    [Symbol.asyncDispose]: async () => {
      failover?.[Symbol.dispose]()
      client.disconnect()
    },
  }
}

function createClient({ url, timeoutMs, store }: ConnectionOptions, retryStrategy: () => number): Redis {
  const options: RedisOptions = {
    connectionName: `gateway-${store}`,
    disableClientInfo: true,
    connectTimeout: LONGEST_TIMEOUTS * timeoutMs,
    retryStrategy,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
  }
  if (!isSentinelAddress(url)) return new Redis(url, options)
  const { hasTls, ...address } = readSentinelAddress(url)
  return new Redis({
    ...options,
    ...address,
    sentinelRetryStrategy: retryStrategy,
    sentinelCommandTimeout: LONGEST_TIMEOUTS * timeoutMs,
    ...(hasTls && { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true }),
  })
}

/** Doubles from attempt to attempt, and differs between processes. */
function pauseMs(attempt: number): number {
  return Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2)
}

/** Reads the incarnation and makes the scripts known to the server. */
async function openSession(client: Redis, scripts: readonly Script[]): Promise<Session> {
  const incarnation = await readIncarnation(client)
  await Promise.all(scripts.map((script) => client.script('LOAD', script.source)))
  return incarnation
}

/** Rejects where the server is no primary. */
async function readIncarnation(client: Redis): Promise<Session> {
  const [server, replication] = await Promise.all([client.info('server'), client.info('replication')])
  const role = field(replication, 'role')
  if (role !== 'master') throw new Error(`the server is a ${role}, not a primary`)
  // The run id changes with every process, the replication id with every promotion of the same process.
  return { epoch: `${field(server, 'run_id').slice(0, 16)}.${field(replication, 'master_replid').slice(0, 16)}` }
}

function field(info: string, name: string): string {
  const value = new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1]
  if (value === undefined) throw new Error(`Redis' INFO has no ${name}`)
  return value
}

/** The calls of a turn of the event loop leave in one write: writing costs more than anything else that a call needs. */
function gatherWrites({ stream }: Redis, sent: () => void): void {
  if (stream.writableCorked > 0) return
  stream.cork()
  setImmediate(() => {
    stream.uncork()
    if (!stream.destroyed) sent()
  })
}

function says(error: unknown, code: 'NOSCRIPT' | 'READONLY' | 'LOADING'): boolean {
  return error instanceof Error && error.message.startsWith(code)
}
