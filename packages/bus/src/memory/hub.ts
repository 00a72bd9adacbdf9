/**
 * The handles of the memory bus share it: subjects with their subscribers, and the durable events.
 *
 * Messages are delivered in the order of their publication, never inside `publish`. Members of a group take turns.
 */

import type { DurableStream } from '../durable.ts'
import { createDurableStore, type DurableStore } from './durable.ts'
import type { KeptValues, OnStatus } from '../port.ts'
import type { Wire, WireListener } from '../wire.ts'

const MAX_PAYLOAD_BYTES = 1024 * 1024
const NO_PAYLOAD = new Uint8Array(0)

export interface MemoryHub {
  connect(processId: string, onStatus: OnStatus): Wire
  readonly durable: DurableStore
  /** Nothing outlives this process. */
  readonly kept: KeptValues
  /** Cuts a process off as if it were dead, or its network; for tests. */
  cut(processId: string): void
}

interface Subscription {
  group: string | undefined
  listener: WireListener
  link: Link
}

interface Link {
  connected: boolean
  onStatus: OnStatus
  listeners: ((connected: boolean) => void)[]
}

interface Delivery {
  subject: string
  payload: Uint8Array
  replyTo: string | undefined
}

export function createMemoryHub(options: { streams?: readonly DurableStream[] } = {}): MemoryHub {
  const links = new Map<string, Link>()
  const subscriptions = new Map<string, Subscription[]>()
  const turns = new Map<string, number>()
  const kept = new Map<string, Uint8Array>()
  let queue: Delivery[] = []
  let draining = false

  const publish = (delivery: Delivery) => {
    queue.push(delivery)
    if (draining) return
    draining = true
    queueMicrotask(drain)
  }
  const drain = () => {
    while (queue.length > 0) {
      const batch = queue
      queue = []
      for (const delivery of batch) deliver(delivery)
    }
    draining = false
  }
  const deliver = ({ subject, payload, replyTo }: Delivery) => {
    const receivers = receiversOf(subject)
    for (const receiver of receivers) hand(receiver, payload, subject, replyTo, false)
    if (receivers.length > 0 || replyTo === undefined) return
    for (const receiver of receiversOf(replyTo)) hand(receiver, NO_PAYLOAD, replyTo, undefined, true)
  }

  /** Everyone without a group, and of each group the member whose turn it is. */
  const receiversOf = (subject: string): Subscription[] => {
    const all = subscriptions.get(inboxOf(subject) ?? subject)
    if (all === undefined) return []
    const reachable = all.filter(({ link }) => link.connected)
    if (reachable.length === 1) return reachable
    const byGroup = Map.groupBy(reachable, ({ group }) => group)
    return [...byGroup].flatMap(([group, members]) => {
      if (group === undefined) return members
      const turn = turns.get(`${subject} ${group}`) ?? 0
      turns.set(`${subject} ${group}`, turn + 1)
      return members[turn % members.length]!
    })
  }

  const subscribe = (subject: string, subscription: Subscription): AsyncDisposable => {
    subscriptions.set(subject, [...(subscriptions.get(subject) ?? []), subscription])
    return {
      [Symbol.asyncDispose]: async () => {
        const rest = (subscriptions.get(subject) ?? []).filter((other) => other !== subscription)
        if (rest.length > 0) subscriptions.set(subject, rest)
        else subscriptions.delete(subject)
      },
    }
  }

  const drop = (link: Link) => {
    link.connected = false
    for (const listener of link.listeners) listener(false)
  }

  return {
    durable: createDurableStore(options.streams ?? []),
    kept: {
      write: async (subject, payload) => void kept.set(subject, Buffer.from(payload)),
      read: async (subject) => kept.get(subject) ?? null,
    },

    connect(processId, onStatus) {
      const link: Link = { connected: true, onStatus, listeners: [] }
      links.set(processId, link)
      return {
        get connected() {
          return link.connected
        },
        maxPayloadBytes: MAX_PAYLOAD_BYTES,
        publish(subject, payload, replyTo) {
          if (link.connected) publish({ subject, payload, replyTo })
        },
        subscribe: async (subject, group, listener) => subscribe(subject, { group, listener, link }),
        onConnection: (listener) => void link.listeners.push(listener),
        flush: async () => {},
        async [Symbol.asyncDispose]() {
          await Promise.resolve()
          drop(link)
          links.delete(processId)
        },
      }
    },

    cut(processId) {
      const link = links.get(processId)
      if (link) drop(link)
    },
  }
}

/** `inbox.<processId>.…` is subscribed to as `inbox.<processId>.>`, the only wildcard there is. */
function inboxOf(subject: string): string | undefined {
  return subject.startsWith('inbox.') ? `${subject.slice(0, subject.indexOf('.', 6))}.>` : undefined
}

const hand: (receiver: Subscription, ...message: Parameters<WireListener>) => void = (
  { listener, link },
  ...message
) => {
  try {
    listener(...message)
  } catch (error) {
    link.onStatus({ type: 'error', error, during: `handling a message on ${message[1]}` })
  }
}
