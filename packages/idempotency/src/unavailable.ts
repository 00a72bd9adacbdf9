/**
 * The store did not answer in time, or is away. Whether the call took effect is not known; each may be repeated with the
 * same arguments.
 */
export class IdempotencyUnavailableError extends Error {
  override name = 'IdempotencyUnavailableError'
}
