/** A wrong command line. The error is told in words alone, with the possible commands. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** As `parseArgs` of Node says it. */
export function isUsageError(error: unknown): error is Error {
  if (error instanceof UsageError) return true
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS_')
}
