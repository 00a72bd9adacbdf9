/**
 * A simulated backend as a process of its own. Prints one JSON line when it is ready; SIGTERM and SIGINT end it.
 *
 * PORT (0: any free one), HOST, TOKENS_PER_SECOND.
 */

import { type Backend, startBackend } from '../backend.ts'
import { serveControl } from './control.ts'

function numberFrom(name: string): number {
  const value = Number(process.env[name] ?? 0)
  if (!Number.isFinite(value) || value < 0) throw new Error(`${name} must be a number of at least 0`)
  return value
}

const backend: Backend = await startBackend({
  host: process.env['HOST'] ?? '127.0.0.1',
  port: numberFrom('PORT'),
  tokensPerSecond: numberFrom('TOKENS_PER_SECOND'),
  // Nobody reads its log.
  keepCalls: 0,
  intercept: (req, res) => serveControl(req, res, () => backend),
})

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => void backend.refuse().then(() => process.exit(0)))
}
console.log(JSON.stringify({ ready: true, url: backend.url, pid: process.pid }))
