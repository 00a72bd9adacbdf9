/**
 * The events that a request may meet, in any order: the steps of clients, backends, processes and the network.
 */

import * as fc from 'fast-check'
import { ROUTERS, type Process, type SimulatedGateway } from './simulated-gateway.ts'

export type Step =
  | { do: 'deliver'; count: number }
  | { do: 'lose' | 'delay' }
  | { do: 'connect' | 'speak' | 'end' | 'refuse' | 'break' }
  | { do: 'stall' | 'read' | 'leave' | 'cut' | 'store' }
  | { do: 'kill'; process: Process }
  | { do: 'wait'; ms: number }

export interface Story {
  stream: boolean
  reportsUsage: boolean
  steps: Step[]
}

const only = <Name extends string>(...names: Name[]) => fc.constantFrom(...names).map((name) => ({ do: name }))
const deliver = fc.integer({ min: 1, max: 8 }).map((count) => ({ do: 'deliver' as const, count }))
const leave = only('leave')
const usual: fc.WeightedArbitrary<Step>[] = [
  { weight: 10, arbitrary: deliver },
  { weight: 3, arbitrary: only('lose', 'delay') },
  { weight: 3, arbitrary: only('connect') },
  { weight: 6, arbitrary: only('speak') },
  { weight: 3, arbitrary: only('end', 'store') },
  { weight: 4, arbitrary: only('stall', 'read') },
  { weight: 2, arbitrary: leave },
  { weight: 3, arbitrary: fc.constantFrom(1, 10, 300).map((ms) => ({ do: 'wait' as const, ms })) },
]
const kill = fc
  .constantFrom<Process>('edge', ...Array.from({ length: ROUTERS }, (_, index) => index))
  .map((process) => ({ do: 'kill' as const, process }))
const troubles: fc.WeightedArbitrary<Step>[] = [
  { weight: 4, arbitrary: only('cut', 'refuse', 'break', 'break') },
  { weight: 1, arbitrary: kill },
  { weight: 1, arbitrary: fc.constant({ do: 'wait' as const, ms: 4_000 }) },
]

const storyOf = (steps: fc.WeightedArbitrary<Step>[]): fc.Arbitrary<Story> =>
  fc.record({
    stream: fc.boolean(),
    reportsUsage: fc.boolean(),
    steps: fc.array(fc.oneof(...steps), { minLength: 3, maxLength: 40 }),
  })

/** Nobody dies and nothing fails; frames are lost, and clients leave. */
export const calmStories = storyOf(usual)
export const stories = storyOf([...usual, ...troubles])
/** Routers die in the middle of responses that somebody waits for. */
export const deaths = storyOf([
  ...usual.filter(({ arbitrary }) => arbitrary !== leave),
  { weight: 2, arbitrary: kill.filter(({ process }) => process !== 'edge') },
])

/** The frames of a turn leave together, some of them a few milliseconds later. */
const LEAVES_WITHIN_MS = 6

export async function take(gateway: SimulatedGateway, step: Step): Promise<void> {
  const { network, client } = gateway
  switch (step.do) {
    case 'deliver':
      await gateway.wait(LEAVES_WITHIN_MS)
      network.deliver(step.count)
      break
    case 'lose':
    case 'delay':
      network[step.do]()
      break
    case 'connect':
    case 'speak':
    case 'end':
    case 'refuse':
    case 'break':
      openCalls(gateway)[0]?.[step.do]()
      break
    case 'stall':
    case 'read':
    case 'leave':
      client[step.do]()
      break
    case 'cut':
    case 'store':
      gateway[step.do]()
      break
    case 'kill':
      gateway.kill(step.process)
      break
    case 'wait':
      await gateway.wait(step.ms)
  }
  await gateway.settle()
}

const RECEIVED_WITHIN_MS = 5_000
/** By then every process knows who is gone. */
const SETTLED_WITHIN_MS = 5_000

/** From here on nothing is lost, and backends complete their calls. The client reads on where it is still there. */
export async function comeToRest(gateway: SimulatedGateway): Promise<void> {
  const { network, client } = gateway
  network.isQuick = true
  network.deliver(network.waiting)
  client.read()
  for (let turn = 0; turn < 6; turn++) {
    await gateway.wait(RECEIVED_WITHIN_MS)
    gateway.store()
    if (!client.hasLeft) for (const call of openCalls(gateway)) call.end()
    await gateway.settle()
  }
  // A call that connects only now learns that nobody waits for it any more.
  for (const call of openCalls(gateway)) call.connect()
  await gateway.wait(SETTLED_WITHIN_MS)
  gateway.store()
  await gateway.settle()
}

function openCalls({ calls, dead }: SimulatedGateway) {
  return calls.filter(({ state, router }) => (state === 'connecting' || state === 'working') && !dead.has(router))
}
