/**
 * Exactly one of edge and router reports a request, with the tokens generated. This holds for every order of head,
 * data, end, stop, acknowledgement, death and lost frame. Both sides run their real code on a simulated network, client
 * and clock.
 */

import * as fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { expectOneReport, expectOneRow, expectUnnoticed } from './one-report/expectations.ts'
import { simulateGateway, type SimulatedGateway } from './one-report/simulated-gateway.ts'
import { calmStories, comeToRest, deaths, stories, take, type Step, type Story } from './one-report/steps.ts'

/** To repeat a run: `ONE_REPORT_SEED=<seed> npm test -- tests/one-report.test.ts`. */
const { ONE_REPORT_SEED, ONE_REPORT_RUNS } = process.env
const options = {
  numRuns: Number(ONE_REPORT_RUNS ?? 400),
  ...(ONE_REPORT_SEED === undefined ? {} : { seed: Number(ONE_REPORT_SEED) }),
}
const TIMEOUT_MS = 120_000

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'performance', 'Date'],
  })
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

async function playStory(
  story: Story,
  judge: (gateway: SimulatedGateway, story: Story) => void,
  may = allSteps,
): Promise<void> {
  await using gateway = await simulateGateway(story)
  for (const step of story.steps) if (may(gateway, step)) await take(gateway, step)
  await comeToRest(gateway)
  judge(gateway, story)
}

type May = (gateway: SimulatedGateway, step: Story['steps'][number]) => boolean
const allSteps: May = () => true
const leavesAfterContent: May = (gateway, step) => step.do !== 'leave' || gateway.wordsSeen > 0

test(
  'a stream whose client leaves after content is metered once, no matter how much its router has already sent',
  { timeout: TIMEOUT_MS },
  async () => {
    const streams = calmStories.filter(({ stream }) => stream)
    await fc.assert(
      fc.asyncProperty(streams, (story) => playStory(story, expectOneRow, leavesAfterContent)),
      options,
    )
  },
)

test('a request whose client leaves at any time is metered once', { timeout: TIMEOUT_MS }, async () => {
  await fc.assert(
    fc.asyncProperty(calmStories, (story) => playStory(story, expectOneReport)),
    options,
  )
})

test(
  'a request is metered once, no matter which process dies, and never without a backend',
  { timeout: TIMEOUT_MS },
  async () => {
    await fc.assert(
      fc.asyncProperty(stories, (story) => playStory(story, expectOneReport)),
      options,
    )
  },
)

test('a router that dies before its client has seen anything is not noticed', { timeout: TIMEOUT_MS }, async () => {
  await fc.assert(
    fc.asyncProperty(deaths, (story) => playStory(story, expectUnnoticed)),
    options,
  )
})

const received: Step = { do: 'deliver', count: 100 }
/** The router has the job, and its backend the request. */
const requested: Step[] = [received, { do: 'connect' }]
const shown: Step[] = [...requested, { do: 'speak' }, { do: 'speak' }, received, received]
/** The end is stored, and the acknowledgement has come to the router. */
const settled: Step[] = [received, { do: 'store' }, received, received]

const leaving: Step = { do: 'leave' }
const ending: Step = { do: 'end' }
const nobody = null

interface Ending {
  name: string
  stream: boolean
  steps: Step[]
  row: { reporter: string; outcome: string; words: number } | null
}

test.each<Ending>([
  {
    name: 'reads to the end',
    stream: true,
    steps: [...shown, ending, ...settled],
    row: { reporter: 'edge', outcome: 'completed', words: 2 },
  },
  {
    name: 'leaves after content',
    stream: true,
    steps: [...shown, leaving],
    row: { reporter: 'edge', outcome: 'client_gone', words: 2 },
  },
  {
    name: 'leaves when the router has ended',
    stream: true,
    steps: [...shown, ending, leaving],
    row: { reporter: 'edge', outcome: 'client_gone', words: 2 },
  },
  {
    name: 'leaves before content',
    stream: true,
    steps: [...requested, leaving],
    row: { reporter: 'edge', outcome: 'client_gone', words: 0 },
  },
  {
    name: 'leaves before a plain response',
    stream: false,
    steps: [...requested, leaving],
    row: { reporter: 'edge', outcome: 'client_gone', words: 0 },
  },
  { name: 'leaves before a backend was reached', stream: false, steps: [received, leaving], row: nobody },
  { name: 'is refused', stream: false, steps: [...requested, { do: 'refuse' }, ...settled], row: nobody },
  {
    name: 'has a revoked key',
    stream: true,
    steps: [...shown, { do: 'cut' }],
    row: { reporter: 'edge', outcome: 'cut', words: 2 },
  },
  {
    name: 'has a backend that breaks',
    stream: true,
    steps: [...shown, { do: 'break' }, ...settled],
    row: { reporter: 'edge', outcome: 'backend_failed', words: 2 },
  },
  {
    name: 'loses its router after content',
    stream: true,
    steps: [...shown, { do: 'kill', process: 0 }],
    row: { reporter: 'edge', outcome: 'router_lost', words: 2 },
  },
  {
    name: 'loses its router in the middle of a plain response',
    stream: false,
    steps: [...requested, ending, received, { do: 'kill', process: 0 }],
    row: { reporter: 'edge', outcome: 'completed', words: 1 },
  },
  {
    name: 'loses its edge after content',
    stream: true,
    steps: [...shown, { do: 'kill', process: 'edge' }],
    row: { reporter: 'router', outcome: 'edge_lost', words: 2 },
  },
  {
    name: 'loses its edge before a plain response',
    stream: false,
    steps: [...requested, { do: 'kill', process: 'edge' }],
    row: { reporter: 'router', outcome: 'edge_lost', words: 0 },
  },
  {
    name: 'loses its edge between the end and its storing',
    stream: true,
    steps: [...shown, ending, received, received, { do: 'kill', process: 'edge' }],
    row: { reporter: 'router', outcome: 'edge_lost', words: 2 },
  },
  {
    name: 'has left, and loses its edge before the last word is stored',
    stream: false,
    steps: [...requested, leaving, received, received, { do: 'kill', process: 'edge' }],
    row: { reporter: 'router', outcome: 'edge_lost', words: 0 },
  },
])('a client that $name has this one row', async ({ stream, steps, row }) => {
  await playStory({ stream, reportsUsage: true, steps }, (gateway, story) => {
    expectOneReport(gateway, story)
    const rows = gateway.reports.map(({ reporter, outcome, usage }) => {
      return { reporter, outcome, words: usage.completionTokens }
    })
    expect(rows).toEqual(row ? [row] : [])
  })
})
