/**
 * A mischief-maker on the durable subject: it publishes the edges' reports again, at once or seconds later. It also
 * puts several reports in one message in another order, and sends them as the router of the same request would. All of
 * it must change nothing.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { subjects } from '@gateway/contracts/subjects'
import type { UsageBatch, UsageEvent } from '@gateway/contracts/usage-event'
import { headers } from '@nats-io/transport-node'
import { chance } from '../plan/random.ts'
import { connectBroker } from '@gateway/testing/call-jetstream'
import type { Stage } from '../stage/open-stage.ts'

/** It leaves its own messages alone. */
const OWN = 'Chaos'
const HELD_BACK_MS = 3_000

/** Returns the number of reports that it published. */
export async function repeated(stage: Stage, seed: string, forMs: number): Promise<number> {
  await using broker = await connectBroker(stage.cluster.servers.nats.url)
  const { connection } = broker
  const random = chance(seed)
  const heldBack: UsageEvent[] = []
  let published = 0

  const publish = (events: UsageEvent[]) => {
    const mark = headers()
    mark.set(OWN, 'yes')
    connection.publish(subjects.usage, JSON.stringify({ v: 1, events } satisfies UsageBatch), { headers: mark })
    published += events.length
  }
  const subscription = connection.subscribe(subjects.usage, {
    callback: (_error, message) => {
      if (message.headers?.has(OWN)) return
      const { events } = message.json<UsageBatch>()
      heldBack.push(...events)
      publish(events.toReversed())
      // A router's own report must not be outdone by a greater one that is made up.
      const made = events.filter(({ reporter }) => reporter === 'edge').map(asItsRouterWould)
      if (made.length > 0) setTimeout(() => publish(made), random.between(0, HELD_BACK_MS))
    },
  })
  await sleep(forMs)
  subscription.unsubscribe()
  await sleep(HELD_BACK_MS)
  for (const events of inMessagesOf(50, random.shuffled(heldBack))) publish(events)
  await connection.flush()
  return published
}

function asItsRouterWould(event: UsageEvent): UsageEvent {
  const usage = { ...event.usage, completionTokens: event.usage.completionTokens + 1_000, estimated: true }
  return { ...event, reporter: 'router', outcome: 'edge_lost', delivered: false, usage }
}

function inMessagesOf<T>(size: number, items: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  )
}
