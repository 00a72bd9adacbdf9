/**
 * The end of a process that cannot start or go on: one clear message and exit code 1.
 *
 * What an operator has to put right (configuration, environment, command line) is told in words alone; anything else comes with its
 * stack, because a developer has to find it.
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
