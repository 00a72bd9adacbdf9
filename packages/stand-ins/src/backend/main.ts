/**
 * A simulated backend as a process of its own. Prints one JSON line when it is ready; SIGTERM and SIGINT end it.
 *
 * PORT (0: any free one), HOST, TOKENS_PER_SECOND, FIRST_BYTE_DELAY_MS, KEEP_CALLS.
 */

import { type Backend, startBackend } from '../backend.ts'
import { serveControl } from './control.ts'

/** The log of a long run keeps no large bodies. */
const KEEP_BODY_BYTES = 16 * 1024

function numberFrom(name: string, fallback: number): number {
  const value = Number(process.env[name] ?? fallback)
  if (!Number.isFinite(value) || value < 0) throw new Error(`${name} must be a number of at least 0`)
  return value
}

const backend: Backend = await startBackend({
  host: process.env['HOST'] ?? '127.0.0.1',
  port: numberFrom('PORT', 0),
  tokensPerSecond: numberFrom('TOKENS_PER_SECOND', 0),
  firstByteDelayMs: numberFrom('FIRST_BYTE_DELAY_MS', 0),
  keepCalls: numberFrom('KEEP_CALLS', 100_000),
  keepBodyBytes: KEEP_BODY_BYTES,
  intercept: (req, res) => serveControl(req, res, () => backend),
})

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => void backend.close().then(() => process.exit(0)))
}
console.log(JSON.stringify({ ready: true, url: backend.url, pid: process.pid }))
