import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { DescribeEdge } from '@gateway/contracts/edges-api'
import { type EndedRequest, MOST_NAMES, Traffic } from './traffic.ts'
import { sumViews, viewTraffic } from './view-traffic.ts'

const DAY = 86_400
const START = 20_000 * DAY
const WINDOWS = [
  { bucketSeconds: 60, buckets: 60 },
  { bucketSeconds: 3_600, buckets: 24 },
  { bucketSeconds: DAY, buckets: 31 },
]

const served: EndedRequest = {
  model: 'svc-fast',
  backend: 'gpu-a',
  account: 'Tag12345',
  outcome: 'ok',
  tookMs: 100,
  firstTokenMs: null,
}

const request = fc.record<EndedRequest>({
  model: fc.constantFrom('', 'svc-fast', 'svc-core'),
  backend: fc.constantFrom('', 'gpu-a', 'gpu-b'),
  account: fc.constantFrom('', 'Tag12345', 'Tag67890'),
  outcome: fc.constantFrom('ok', 'client_gone', 'quota_exceeded', 'UPSTREAMS_EXHAUSTED'),
  tookMs: fc.integer({ min: 1, max: 600_000 }),
  firstTokenMs: fc.option(fc.integer({ min: 1, max: 60_000 })),
})
/** A pause in seconds before each request. */
const traffic = fc.array(fc.tuple(fc.oneof(fc.nat(120), fc.nat(4 * 3_600), fc.nat(3 * DAY)), request), {
  maxLength: 60,
})

const question = (range: { from: number; to: number; bucketSeconds: number }, of: Partial<DescribeEdge> = {}) => ({
  question: '',
  account: null,
  accounts: ['Tag12345', 'Tag67890'],
  ...range,
  ...of,
})

function rangeAt(atSeconds: number, { bucketSeconds, buckets }: { bucketSeconds: number; buckets: number }) {
  const to = (Math.floor(atSeconds / bucketSeconds) + 1) * bucketSeconds
  return { from: to - buckets * bucketSeconds, to, bucketSeconds }
}

function viewAt(counted: Traffic, atSeconds: number, wanted: DescribeEdge) {
  const range = { from: wanted.from, to: wanted.to, seconds: wanted.bucketSeconds }
  return viewTraffic(counted.slots(range, atSeconds * 1_000), wanted)
}

test('each window has exactly the requests that ended in it, by bucket, model, backend and project', () => {
  fc.assert(
    fc.property(traffic, fc.nat(5_000), (requests, laterSeconds) => {
      const counted = new Traffic(START * 1_000)
      let now = START
      const ended = requests.map(([pauseSeconds, one]) => {
        now += pauseSeconds
        counted.add(one, now * 1_000)
        return { ...one, at: now }
      })
      now += laterSeconds
      for (const window of WINDOWS) {
        const range = rangeAt(now, window)
        const view = viewAt(counted, now, question(range))
        const within = ended.filter(({ at }) => at >= range.from && at < range.to)
        expect(view.totals.requests).toBe(within.length)
        const byBucket = Map.groupBy(within, ({ at }) => Math.floor(at / range.bucketSeconds) * range.bucketSeconds)
        expect(view.buckets.map(({ begins, requests: count }) => [begins, count])).toEqual(
          Array.from(byBucket, ([begins, rows]) => [begins, rows.length]).toSorted(([a], [b]) => a! - b!),
        )
        for (const [part, member] of [
          ['models', 'model'],
          ['backends', 'backend'],
          ['accounts', 'account'],
        ] as const) {
          for (const { name, requests: count, failures } of view[part]) {
            const rows = within.filter((row) => row[member] === name)
            expect([part, name, count]).toEqual([part, name, rows.length])
            const failed = Object.values(failures).reduce((sum, one) => sum + one, 0)
            expect(failed).toBe(rows.filter(({ outcome }) => outcome !== 'ok').length)
          }
        }
      }
    }),
  )
})

test('the figures of two edges add up to those of one edge with the requests of both', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(50), fc.boolean(), request), { maxLength: 60 }), (requests) => {
      const one = new Traffic(START * 1_000)
      const [left, right] = [new Traffic(START * 1_000), new Traffic(START * 1_000)]
      let now = START
      for (const [pauseSeconds, isLeft, ended] of requests) {
        now += pauseSeconds
        one.add(ended, now * 1_000)
        ;(isLeft ? left : right).add(ended, now * 1_000)
      }
      const wanted = question(rangeAt(now, WINDOWS[0]!))
      const live = { requests: 0, streams: 0, models: [], backends: [], accounts: [] }
      const view = (counted: Traffic) => ({ edge: '', since: START, live, ...viewAt(counted, now, wanted) })
      expect(sumViews([view(left), view(right)])).toEqual(sumViews([view(one)]))
    }),
  )
})

test("a project's view has its own requests alone, and nobody else's models", () => {
  const counted = new Traffic(START * 1_000)
  counted.add(served, START * 1_000)
  counted.add({ ...served, account: 'Tag67890', outcome: 'quota_exceeded' }, START * 1_000)
  const view = viewAt(counted, START, question(rangeAt(START, WINDOWS[0]!), { account: 'Tag67890' }))
  expect(view).toMatchObject({
    totals: { requests: 1, failures: { quota_exceeded: 1 } },
    buckets: [{ begins: START, requests: 1 }],
    models: [],
    backends: [],
    accounts: [{ name: 'Tag67890' }],
  })
})

test('latencies are those of served requests: a refusal is not quick, it is an error', () => {
  const counted = new Traffic(START * 1_000)
  counted.add({ ...served, tookMs: 1_000, firstTokenMs: 50 }, START * 1_000)
  counted.add({ ...served, tookMs: 1, outcome: 'rate_limit_exceeded' }, START * 1_000)
  const { totals } = viewAt(counted, START, question(rangeAt(START, WINDOWS[0]!)))
  expect(totals.duration.counts).toEqual([1])
  expect(totals.firstToken.counts).toEqual([1])
})

test('projects without end take bounded memory, and still count in the totals', () => {
  const counted = new Traffic(START * 1_000)
  for (let minute = 0; minute < 3; minute++) {
    for (let project = 0; project < 2 * MOST_NAMES; project++) {
      counted.add({ ...served, account: `${minute}-${project}` }, (START + 60 * minute) * 1_000)
    }
  }
  const now = START + 180
  for (const window of WINDOWS) {
    const range = rangeAt(now, window)
    const slots = counted.slots({ ...range, seconds: range.bucketSeconds }, now * 1_000)
    for (const { projects } of slots) expect(projects.size).toBeLessThanOrEqual(MOST_NAMES)
    expect(slots.reduce((sum, { all }) => sum + all.requests, 0)).toBe(6 * MOST_NAMES)
  }
})

test('an edge keeps an hour of minutes, a day of hours and a month of days, and no more', () => {
  const counted = new Traffic(START * 1_000)
  const ends = START + 40 * DAY
  for (let now = START; now <= ends; now += 50) counted.add(served, now * 1_000)
  for (const { bucketSeconds, buckets } of WINDOWS) {
    const slots = counted.slots({ from: 0, to: Infinity, seconds: bucketSeconds }, ends * 1_000)
    expect(new Set(slots.map(({ begins }) => begins)).size).toBeGreaterThanOrEqual(buckets)
    expect(slots.length).toBeLessThanOrEqual(buckets + 3)
  }
})
