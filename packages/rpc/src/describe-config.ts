/**
 * A process reports its config revision to the edge that serves an operator.
 */

import { hostname } from 'node:os'
import type { Bus } from '@gateway/bus/port'
import type { DescribedService } from '@gateway/contracts/config-api'
import { rpcClient } from './client.ts'

/** `revision`: null for a service that reads no config. */
export function describeConfig(
  bus: Bus,
  service: DescribedService,
  revision: () => string | null,
): Promise<AsyncDisposable> {
  const client = rpcClient(service, bus)
  return client.subscribe('configDescribe', ({ question }) => {
    const view = { service, process: bus.processId, host: hostname(), pid: process.pid, revision: revision() }
    client.publish('configDescribed', { question, view })
  })
}
