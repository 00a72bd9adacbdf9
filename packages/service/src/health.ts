/**
 * The health server of a process, on its own port. `/healthz` says that the process runs. `/readyz`, and `/` as well, says
 * whether it can work, and names the failing checks. `/metrics` has Prometheus text. It listens on loopback unless configured
 * otherwise, since it needs no credentials.
 */

import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { explainListenError } from './explain-listen-error.ts'
import type { Metrics } from '@gateway/telemetry/metrics'

/** False, or throwing, means not ready; the thrown error is the reason. */
export type ReadinessCheck = () => boolean | Promise<boolean>

interface HealthOptions {
  /** 0 takes a free one. */
  port: number
  host?: string
  /** By the name of the checked part: `nats`, `database`. */
  checks: Record<string, ReadinessCheck>
  metrics?: Metrics
}

interface HealthServer extends AsyncDisposable {
  readonly url: string
}

/** A probe's own timeout is often a second; a later response counts as none. */
const CHECK_TIMEOUT_MS = 800

export async function openHealthServer(options: HealthOptions): Promise<HealthServer> {
  const { port, host = '127.0.0.1', checks, metrics } = options
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0]
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return respond(response, 405, { status: 'method not allowed' })
    if (path === '/healthz') return respond(response, 200, { status: 'alive' })
    if (path === '/readyz' || path === '/') return void serveReadiness(response, checks)
    if (path === '/metrics' && metrics) return serveMetrics(response, metrics)
    respond(response, 404, { status: 'not found' })
  })
  await listen(server, port, host)
  const { port: bound } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      if (server.listening) await once(server, 'close')
    },
  }
}

async function listen(server: Server, port: number, host: string): Promise<void> {
  try {
    server.listen(port, host)
    await once(server, 'listening')
  } catch (cause) {
    throw explainListenError(cause, { host, port }, { host: 'HEALTH_HOST', port: 'HEALTH_PORT' })
  }
}

async function serveReadiness(response: ServerResponse, checks: Record<string, ReadinessCheck>): Promise<void> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => [name, await fault(check)] as const),
  )
  const failing = Object.fromEntries(results.filter(([, reason]) => reason !== null))
  const ready = Object.keys(failing).length === 0
  respond(response, ready ? 200 : 503, ready ? { status: 'ready' } : { status: 'not ready', failing })
}

async function fault(check: ReadinessCheck): Promise<string | null> {
  const late = Promise.withResolvers<string>()
  const timer = setTimeout(() => late.resolve(`no answer within ${CHECK_TIMEOUT_MS} ms`), CHECK_TIMEOUT_MS)
  const outcome = (async () => ((await check()) ? null : 'not ready'))().catch((error: unknown) =>
    error instanceof Error ? error.message : String(error),
  )
  return Promise.race([outcome, late.promise]).finally(() => clearTimeout(timer))
}

function respond(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
  response.end(JSON.stringify(body))
}

function serveMetrics(response: ServerResponse, metrics: Metrics): void {
  response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' })
  response.end(metrics.text())
}
