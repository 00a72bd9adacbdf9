/**
 * Pushes the events of a part to a collector with OpenMeter's interface, a batch at a time. Where a batch is refused or a process dies, the
 * whole part is pushed again. The collector drops events whose `source` and `id` it has, so each counts once.
 *
 * The address is resolved once for each part and checked as those of webhooks are. A redirect is an error: its place was not checked.
 */

import type { ExportConfig } from '@gateway/contracts/exports'
import { failpoint } from '@gateway/service/failpoint'
import { Client } from 'undici'
import { checkedAddress, pinnedTo } from '../public-address.ts'
import type { Destination } from './destination.ts'

const EVENTS_A_BATCH = 100
const PUSH_TIMEOUT_MS = 30_000
const CONNECT_TIMEOUT_MS = 10_000
const MOST_RESPONSE_BYTES = 65_536
const MOST_ERROR_CHARACTERS = 500

export function openCollector(
  { to, token, allowPrivate }: Pick<ExportConfig, 'to' | 'token' | 'allowPrivate'>,
  resolve: typeof checkedAddress = checkedAddress,
): Destination {
  const { hostname, origin, pathname, search } = new URL(to)
  const headers = {
    'content-type': 'application/cloudevents-batch+json',
    'user-agent': 'model-gateway',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  }

  async function push(client: Client, events: readonly string[]): Promise<void> {
    const { statusCode, body } = await client.request({
      method: 'POST',
      path: `${pathname}${search}`,
      headers,
      body: `[${events.join(',')}]`,
      signal: AbortSignal.timeout(PUSH_TIMEOUT_MS),
    })
    const text = await body.text()
    if (statusCode >= 200 && statusCode < 300) return
    throw new Error(`the collector replied ${statusCode}: ${text.slice(0, MOST_ERROR_CHARACTERS)}`)
  }

  return {
    async write(_name, bytes) {
      const address = await resolve(hostname, allowPrivate)
      const connect = { timeout: CONNECT_TIMEOUT_MS, ...pinnedTo(address) }
      const client = new Client(origin, { connect, maxResponseSize: MOST_RESPONSE_BYTES })
      try {
        const events = Buffer.from(bytes).toString().trimEnd().split('\n')
        for (let start = 0; start < events.length; start += EVENTS_A_BATCH) {
          await push(client, events.slice(start, start + EVENTS_A_BATCH))
          failpoint('metering.events-pushed')
        }
      } finally {
        await client.destroy()
      }
    },
  }
}
