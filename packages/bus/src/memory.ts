/**
 * The bus inside one process. Every part of it opens its own handle on a shared hub; payloads are not copied on the way.
 */

import { createBus, type CountedBus } from './bus.ts'
import type { BusMeasures } from './counters.ts'
import { memoryDurable } from './memory/durable.ts'
import { createMemoryHub, type MemoryHub } from './memory/hub.ts'
import { createProcessId } from './inbox.ts'
import type { OnStatus } from './port.ts'
import type { Tuning } from './tuning.ts'

export { createMemoryHub, type MemoryHub }

export interface MemoryBusOptions {
  hub: MemoryHub
  onStatus?: OnStatus
  measures?: BusMeasures
  tuning?: Partial<Tuning>
}

export function openMemoryBus(options: MemoryBusOptions): Promise<CountedBus> {
  const processId = createProcessId()
  const onStatus = options.onStatus ?? (() => {})
  return createBus({
    processId,
    wire: options.hub.connect(processId, onStatus),
    onStatus,
    measures: options.measures,
    openDurable: ({ counters, measures }) => memoryDurable(options.hub.durable, counters, measures),
    openKept: () => options.hub.kept,
    tuning: options.tuning,
  })
}
