/** A command line that asks for what cannot be: told in words alone, with what can be asked. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** As `parseArgs` of Node says it. */
export function isUsageError(error: unknown): error is Error {
  if (error instanceof UsageError) return true
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS_')
}
