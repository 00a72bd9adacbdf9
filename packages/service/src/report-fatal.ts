/**
 * The end of a process that cannot start or go on: one clear message and exit code 1.
 *
 * It prints an operator's errors (configuration, environment, commands) as a sentence alone. Any other error comes with
 * its stack, for a developer.
 */

import { inspect } from 'node:util'
import { ConfigError } from '@gateway/config/config-error'
import { EnvironmentError } from './environment.ts'

/** A person requested something impossible; the message names the remedy. */
export class UsageError extends Error {
  override name = 'UsageError'
}

export function reportFatal(error: unknown): never {
  process.stderr.write(`${describeFatal(error)}\n`)
  process.exit(1)
}

export function describeFatal(error: unknown): string {
  const isOperators = [ConfigError, EnvironmentError, UsageError].some((kind) => error instanceof kind)
  return error instanceof Error && (isOperators || isOfParseArgs(error)) ? error.message : inspect(error)
}

function isOfParseArgs(error: Error): boolean {
  return 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS_')
}
