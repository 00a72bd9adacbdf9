/**
 * The end of a process that cannot start or go on: one clear message and exit code 1.
 *
 * It tells an operator's errors (configuration, environment, command line) in words alone. Any other error comes with
 * its stack, for a developer.
 */

import { inspect } from 'node:util'
import { ConfigError } from '@gateway/config/config-error'
import { EnvironmentError } from './environment.ts'
import { isUsageError } from './usage-error.ts'

export function reportFatal(error: unknown): never {
  process.stderr.write(`${describeFatal(error)}\n`)
  process.exit(1)
}

export function describeFatal(error: unknown): string {
  if (error instanceof ConfigError || error instanceof EnvironmentError) return error.message
  if (isUsageError(error)) return error.message
  return inspect(error)
}
