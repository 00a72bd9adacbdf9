/**
 * The dialect of a path's answers. It holds before anything is read: also for a method that the path does not take, and for
 * a caller that nobody knows.
 */

import { apiDialects, type ApiDialect } from '@gateway/contracts/vendors'

/** `target`: the request's, with its query. Everything that is no conversation answers as chat does. */
export function dialectOfPath(target = ''): ApiDialect {
  const [, version, resource] = target.split(/[/?]/, 3)
  return (version === 'v1' && apiDialects.find((dialect) => dialect === resource)) || 'chat'
}
