/**
 * The one reader of the router's environment. Secrets of backends are resolved where the config names them: see
 * `core/secrets.ts`.
 */

export interface RouterSettings {
  /** How long a stopping router finishes open jobs. */
  drainMs: number
}

const DEFAULT_DRAIN_MS = 600_000

export function readSettings(environment: NodeJS.ProcessEnv): RouterSettings {
  const text = environment.DRAIN_MS
  if (text === undefined || text === '') return { drainMs: DEFAULT_DRAIN_MS }
  const drainMs = Number(text)
  if (!Number.isSafeInteger(drainMs) || drainMs < 0) throw new Error(`DRAIN_MS must be a whole number of milliseconds, not ${text}`)
  return { drainMs }
}
