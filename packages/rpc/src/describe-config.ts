/**
 * A process reports its config revision to the edge that serves an operator. It reports it once when it starts, so that each edge knows
 * the process and waits for its reply.
 */

import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Bus } from '@gateway/bus/port'
import type { DescribedService } from '@gateway/contracts/config-api'
import { rpcClient } from './client.ts'

/** `revision`: null for a service that reads no config. */
export async function describeConfig(
  bus: Bus,
  service: DescribedService,
  revision: () => string | null,
): Promise<AsyncDisposable> {
  const client = rpcClient(service, bus)
  const reply = (question: string) => {
    const view = { service, process: bus.processId, host: hostname(), pid: process.pid, revision: revision() }
    client.publish('configDescribed', { question, view })
  }
  const subscription = await client.subscribe('configDescribe', ({ question }) => reply(question))
  reply(randomUUID())
  return subscription
}
