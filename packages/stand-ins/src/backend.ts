/**
 * A simulated inference server that speaks the OpenAI wire format: chat (plain and streamed, tools, vision, reasoning),
 * embeddings, images, models. On request it speaks the Responses and the Messages API, too. Responses are deterministic, and a
 * test can set every fault of a real server (`backend/faults.ts`). It keeps a log of its calls, the truth that tests compare the
 * ledger with.
 *
 * It listens on loopback unless `host` names another address.
 */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type BackendCall, callLog } from './backend/calls.ts'
import type { OtherDialect } from './backend/conversations.ts'
import type { Speed } from './backend/deliver.ts'
import { type Fault, faultScript } from './backend/faults.ts'
import { type Serving, serveRequest } from './backend/serve.ts'

export type { BackendCall } from './backend/calls.ts'
export type { Fault } from './backend/faults.ts'

export interface BackendOptions {
  host?: string
  /** 0: any free one. */
  port?: number
  /** 0: as fast as it can. */
  tokensPerSecond?: number
  firstByteDelayMs?: number
  /** Requests must carry it as their bearer credential. */
  apiKey?: string
  /** The only models that it knows; others are a 404. Without it, every name is served. */
  models?: string[]
  /** The APIs for conversations that it speaks beside chat completions. */
  dialects?: readonly OtherDialect[]
  /** Longer requests are refused with `context_length_exceeded`. */
  contextWindow?: number
  /** Calls that the log keeps (10,000). */
  keepCalls?: number
  /** Larger bodies (1 MiB) are not kept in the log. */
  keepBodyBytes?: number
  /** Serves some requests itself; returns true when it has. */
  intercept?: (req: IncomingMessage, res: ServerResponse) => boolean
}

export interface Backend extends AsyncDisposable {
  /** The base address with its version, for a config's `url`. */
  readonly url: string
  readonly port: number
  /** In order of arrival. */
  readonly calls: readonly BackendCall[]
  /** Requests without a complete response. */
  readonly running: number
  readonly faults: Fault[]
  fail(fault: Fault): { cancel(): void }
  /** Ends every fault and takes connections again. */
  heal(): Promise<void>
  setSpeed(speed: Partial<Speed>): void
  /** Forgets the calls so far. */
  forget(): void
  /** Refuses connections and breaks those there are, as a killed process does. */
  refuse(): Promise<void>
}

/** Longer than clients keep theirs, so that none meets a connection that is just being closed. */
const KEEP_ALIVE_MS = 120_000

export async function startBackend(options: BackendOptions = {}): Promise<Backend> {
  const host = options.host ?? '127.0.0.1'
  const script = faultScript()
  const log = callLog(options.keepCalls ?? 10_000)
  const speed: Speed = {
    tokensPerSecond: options.tokensPerSecond ?? 0,
    firstByteDelayMs: options.firstByteDelayMs ?? 0,
  }
  const serving: Serving = {
    script,
    log,
    speed,
    origin: () => `http://${host}:${port}`,
    apiKey: options.apiKey,
    models: options.models,
    contextWindow: options.contextWindow,
    keepBodyBytes: options.keepBodyBytes ?? 1024 * 1024,
    dialects: options.dialects ?? [],
  }
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 }, (req, res) => {
    if (!options.intercept?.(req, res)) void serveRequest(req, res, serving)
  })

  const listen = async (on: number) => {
    server.listen(on, host)
    await once(server, 'listening')
  }
  const stop = async () => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }
  await listen(options.port ?? 0)
  const { port } = server.address() as AddressInfo

  return {
    url: `http://${host}:${port}/v1`,
    port,
    get calls() {
      return log.calls
    },
    get running() {
      return log.running
    },
    get faults() {
      return script.list()
    },
    fail: (fault) => script.add(fault),
    async heal() {
      script.clear()
      if (!server.listening) await listen(port)
    },
    setSpeed: (change) => void Object.assign(speed, change),
    forget: () => log.clear(),
    refuse: stop,
    [Symbol.asyncDispose]: stop,
  }
}
