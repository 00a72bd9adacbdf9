import { afterEach, beforeEach, expect, test } from 'vitest'
import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import type { Bus } from '@gateway/bus/port'
import type { LiveCounts } from '../admission/running-requests.ts'
import { rangeOf } from '../core/overview.ts'
import { Traffic } from '../core/traffic.ts'
import { openEdgeFigures, type EdgeFigures } from './query-edges.ts'

let opened: AsyncDisposableStack
beforeEach(() => void (opened = new AsyncDisposableStack()))
afterEach(() => opened.disposeAsync())

const NOW_MS = Date.parse('2026-11-29T13:37:42Z')
/** Longer than a loaded machine takes. */
const replyWithinMs = { unknown: 1_000, known: 2_000 }
const NOTHING_LIVE: LiveCounts = { projects: new Map(), models: new Map(), backends: new Map() }
const running = { count: 2, streams: 1, live: () => NOTHING_LIVE }

interface Edge {
  figures: EdgeFigures
  traffic: Traffic
  bus: Bus
  stop(): PromiseLike<void>
}

type Hub = ReturnType<typeof createMemoryHub>

async function openEdge(hub: Hub): Promise<Edge> {
  const bus = await openMemoryBus({ hub })
  const traffic = new Traffic(NOW_MS)
  const figures = await openEdgeFigures({ bus, traffic, running, now: () => NOW_MS, replyWithinMs })
  opened.use(figures)
  return { figures, traffic, bus, stop: () => figures[Symbol.asyncDispose]() }
}

const served = {
  model: 'svc-fast',
  backend: 'gpu-a',
  account: 'Tag12345',
  outcome: 'ok',
  tookMs: 5,
  firstTokenMs: null,
}
const question = { ...rangeOf('hour', NOW_MS), account: null, accounts: [] }

test('one question gets the figures of every edge, its own among them', async () => {
  const hub = createMemoryHub()
  const [first, second] = [await openEdge(hub), await openEdge(hub)]
  first.traffic.add(served, NOW_MS)
  second.traffic.add(served, NOW_MS)
  second.traffic.add(served, NOW_MS)
  const { views, known } = await first.figures.query(question)
  expect(views.reduce((sum, { totals }) => sum + totals.requests, 0)).toBe(3)
  expect(views[0]!.live).toMatchObject({ requests: 2, streams: 1 })
  expect(known).toBe(2)
})

test('an edge that stops is missed once, and is not expected again', async () => {
  const hub = createMemoryHub()
  const [first, second] = [await openEdge(hub), await openEdge(hub)]
  expect((await first.figures.query(question)).known).toBe(2)
  await second.stop()
  const missed = await first.figures.query(question)
  expect([missed.views.length, missed.known]).toEqual([1, 2])
  const after = await first.figures.query(question)
  expect([after.views.length, after.known]).toEqual([1, 1])
})

test('an edge that starts is known from its first reply to anybody', async () => {
  const hub = createMemoryHub()
  const [first, second] = [await openEdge(hub), await openEdge(hub)]
  expect((await first.figures.query(question)).views).toHaveLength(2)
  await openEdge(hub)
  expect((await second.figures.query(question)).views).toHaveLength(3)
  expect((await first.figures.query(question)).views).toHaveLength(3)
})
