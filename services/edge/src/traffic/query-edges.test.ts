import { afterEach, beforeEach, expect, test } from 'vitest'
import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import { subjects } from '@gateway/contracts/subjects'
import type { LiveCounts } from '../admission/running-requests.ts'
import { rangeOf } from '../core/overview.ts'
import { Traffic } from '../core/traffic.ts'
import { openEdgeFigures } from './query-edges.ts'

let opened: AsyncDisposableStack
beforeEach(() => void (opened = new AsyncDisposableStack()))
afterEach(() => opened.disposeAsync())

const NOW_MS = Date.parse('2026-11-29T13:37:42Z')
const NOTHING_LIVE: LiveCounts = { projects: new Map(), models: new Map(), backends: new Map() }
const running = { count: 2, streams: 1, live: () => NOTHING_LIVE }

async function openEdge(hub: ReturnType<typeof createMemoryHub>) {
  const bus = opened.use(await openMemoryBus({ hub }))
  const traffic = new Traffic(NOW_MS)
  const figures = opened.use(await openEdgeFigures({ bus, traffic, running, now: () => NOW_MS }))
  return { figures, traffic }
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
  await expect.poll(async () => (await first.figures.query(question)).known).toBe(2)
  const { views } = await first.figures.query(question)
  expect(views.reduce((sum, { totals }) => sum + totals.requests, 0)).toBe(3)
  expect(views[0]!.live).toMatchObject({ requests: 2, streams: 1 })
})

test('readers who request the same figures at once, or within a second, cost the edges one question', async () => {
  const hub = createMemoryHub()
  const { figures } = await openEdge(hub)
  let questions = 0
  const observer = opened.use(await openMemoryBus({ hub }))
  opened.use(await observer.listen(subjects.edgesDescribe, () => void questions++))
  const replies = await Promise.all(Array.from({ length: 200 }, () => figures.query(question)))
  await figures.query(question)
  expect(new Set(replies.map(({ views }) => views.length))).toEqual(new Set([1]))
  expect(questions).toBe(1)
  await figures.query({ ...question, account: 'Tag12345' })
  expect(questions).toBe(2)
})
