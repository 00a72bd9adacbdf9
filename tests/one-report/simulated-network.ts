/**
 * The network between the processes of a simulated gateway. Every message waits until a test delivers, loses or delays it.
 * A message may arrive after its sender's death, as on a real network.
 */

import { createMemoryHub, type MemoryHub } from '@gateway/bus/memory'

type Wire = ReturnType<MemoryHub['connect']>

interface Message {
  sentAtMs: number
  subject: string
  payload: Uint8Array
  replyTo: string | undefined
}

export interface SimulatedNetwork {
  /** The processes connect to this hub. */
  readonly hub: MemoryHub
  readonly waiting: number
  /** Of all messages that were delivered. */
  readonly longestWaitMs: number
  /** Delivers messages in their order. */
  deliver(count: number): void
  /** The oldest message never arrives, if it is one of frames. */
  lose(): void
  /** The oldest message is overtaken by all others that wait. */
  delay(): void
  kill(processId: string): void
  /** While true, messages are delivered as soon as they are sent. */
  isQuick: boolean
}

export function simulateNetwork(): SimulatedNetwork {
  const inner = createMemoryHub()
  const carrier = inner.connect('network', () => {})
  const waiting: Message[] = []

  let longestWaitMs = 0

  const deliver = (count: number): void => {
    for (const { subject, payload, replyTo, sentAtMs } of waiting.splice(0, count)) {
      longestWaitMs = Math.max(longestWaitMs, performance.now() - sentAtMs)
      carrier.publish(subject, payload, replyTo)
    }
  }
  const network: SimulatedNetwork = {
    isQuick: false,
    get waiting() {
      return waiting.length
    },
    get longestWaitMs() {
      return longestWaitMs
    },
    deliver,
    lose() {
      if (waiting[0] && isFrames(waiting[0].subject)) waiting.shift()
    },
    delay() {
      const oldest = waiting.shift()
      if (oldest) waiting.push(oldest)
    },
    kill: (processId) => inner.cut(processId),
    hub: {
      ...inner,
      connect(processId, onStatus): Wire {
        const wire = inner.connect(processId, onStatus)
        return Object.create(wire, {
          publish: {
            value(subject: string, payload: Uint8Array, replyTo?: string) {
              if (!wire.connected) return
              // A process hears itself in any state of the network between processes.
              if (subject.startsWith(`inbox.${processId}.h.`)) return wire.publish(subject, payload, replyTo)
              waiting.push({ subject, payload, replyTo, sentAtMs: performance.now() })
              if (network.isQuick) deliver(waiting.length)
            },
          },
        }) as Wire
      },
    },
  }
  return network
}

function isFrames(subject: string): boolean {
  return /^inbox\.[^.]+\.f\./.test(subject)
}
