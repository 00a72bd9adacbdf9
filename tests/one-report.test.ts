/**
 * Exactly one of edge and router reports a request, with the tokens generated: for every order of head, data, end, stop,
 * acknowledgement, death and lost frame. Both sides run their real code on a simulated network, client and clock.
 */

import * as fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { expectOneReport, expectOneRow, expectUnnoticed } from './one-report/expectations.ts'
import { simulateGateway, type SimulatedGateway } from './one-report/simulated-gateway.ts'
import { calmStories, comeToRest, deaths, stories, take, type Story } from './one-report/steps.ts'

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

async function tell(
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
  'a stream whose client leaves after content is metered once, whatever its router has already sent',
  { timeout: TIMEOUT_MS },
  async () => {
    const streams = calmStories.filter(({ stream }) => stream)
    await fc.assert(
      fc.asyncProperty(streams, (story) => tell(story, expectOneRow, leavesAfterContent)),
      options,
    )
  },
)

test('a request whose client leaves at any time is metered once', { timeout: TIMEOUT_MS }, async () => {
  await fc.assert(
    fc.asyncProperty(calmStories, (story) => tell(story, expectOneReport)),
    options,
  )
})

test('a request is metered once whoever dies, and never without a backend', { timeout: TIMEOUT_MS }, async () => {
  await fc.assert(
    fc.asyncProperty(stories, (story) => tell(story, expectOneReport)),
    options,
  )
})

test('a router that dies before its client has seen anything is not noticed', { timeout: TIMEOUT_MS }, async () => {
  await fc.assert(
    fc.asyncProperty(deaths, (story) => tell(story, expectUnnoticed)),
    options,
  )
})

test('the stories reach every end', { timeout: TIMEOUT_MS }, async () => {
  const ends = new Set<string>()
  const note = (gateway: SimulatedGateway) => {
    for (const { outcome, reporter } of gateway.reports) ends.add(`${reporter} ${outcome}`)
    for (const { state } of gateway.calls) ends.add(state)
  }
  await fc.assert(
    fc.asyncProperty(stories, (story) => tell(story, note)),
    { ...options, seed: 1 },
  )
  expect([...ends]).toEqual(
    expect.arrayContaining([
      'edge completed',
      'router edge_lost',
      'edge backend_failed',
      'refused',
      'broken',
      'aborted',
    ]),
  )
})
