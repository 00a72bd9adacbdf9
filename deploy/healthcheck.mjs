/** A container's health: whether `/readyz` of its health port, or the address given, answers well. No shell is needed. */

const { HEALTH_PORT = '8081' } = process.env
const url = process.argv[2] ?? `http://127.0.0.1:${HEALTH_PORT}/readyz`

try {
  const { ok } = await fetch(url, { signal: AbortSignal.timeout(2_000) })
  process.exitCode = ok ? 0 : 1
} catch {
  process.exitCode = 1
}
