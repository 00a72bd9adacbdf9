/** The adapters that the conformance suite runs on, each as a world in which buses meet and can be cut off. */

import { startNats, type Server } from '@gateway/servers/start'
import type { CountedBus } from '../bus.ts'
import type { DurableStream } from '../durable.ts'
import { createMemoryHub, openMemoryBus } from '../memory.ts'
import type { NatsStream } from '../nats/jetstream-api.ts'
import { openNatsBus } from '../nats.ts'
import type { OnStatus } from '../port.ts'
import type { Tuning } from '../tuning.ts'
import { openObserver, type Observer } from './observer.ts'

export const eventStream = { name: 'EVENTS', subjects: ['events.>'], consumers: ['ledger'] } satisfies DurableStream

export const keptStream = { name: 'KEPT', subjects: ['kept.>'], consumers: [], lastOnly: true } satisfies NatsStream

export interface BusOptions {
  tuning?: Partial<Tuning>
  onStatus?: OnStatus
}

export interface World extends AsyncDisposable {
  open(options?: BusOptions): Promise<CountedBus>
  /** Cuts a bus off as `kill -9` of its process would: nothing comes from it or reaches it any more. */
  kill(bus: CountedBus): void
}

export interface NatsWorld extends World {
  readonly server: Server
}

export const adapters: { name: string; createWorld(): Promise<World> }[] = [
  { name: 'memory', createWorld: createMemoryWorld },
  { name: 'nats', createWorld: createNatsWorld },
]

async function createMemoryWorld(): Promise<World> {
  const hub = createMemoryHub({ streams: [eventStream] })
  const opened: CountedBus[] = []
  return {
    async open(options = {}) {
      const bus = await openMemoryBus({ hub, ...options })
      opened.push(bus)
      return bus
    },
    kill: (bus) => hub.cut(bus.processId),
    async [Symbol.asyncDispose]() {
      for (const bus of opened) await bus[Symbol.asyncDispose]()
    },
  }
}

export async function createNatsWorld(): Promise<NatsWorld> {
  const server = await startNats({ own: true })
  const opened = new Map<CountedBus, Observer>()
  return {
    server,
    async open(options = {}) {
      const observer = await openObserver(server.url)
      const bus = await openNatsBus({
        url: observer.url,
        name: 'conformance',
        streams: [eventStream],
        keptStream,
        ...options,
      })
      opened.set(bus, observer)
      return bus
    },
    kill: (bus) => opened.get(bus)?.close(),
    async [Symbol.asyncDispose]() {
      await Promise.all([...opened.keys()].map((bus) => bus[Symbol.asyncDispose]()))
      for (const observer of opened.values()) observer.close()
      await server[Symbol.asyncDispose]()
    },
  }
}
