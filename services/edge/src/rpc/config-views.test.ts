import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import { describeConfig } from '@gateway/rpc/describe-config'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openConfigViews } from './config-views.ts'

let opened: AsyncDisposableStack
let hub: ReturnType<typeof createMemoryHub>
beforeEach(() => {
  opened = new AsyncDisposableStack()
  hub = createMemoryHub()
})
afterEach(() => opened.disposeAsync())

const openBus = async () => opened.use(await openMemoryBus({ hub }))
const openEdge = async (revision: string) => opened.use(await openConfigViews(await openBus(), () => revision, 200))

test('every edge, keys and metering process replies for itself, to the edge that queried alone', async () => {
  const edges = [await openEdge('first'), await openEdge('second')]
  let revision = 'before'
  opened.use(await describeConfig(await openBus(), 'keys', () => revision))
  opened.use(await describeConfig(await openBus(), 'keys', () => 'other'))
  opened.use(await describeConfig(await openBus(), 'metering', () => null))
  revision = 'after'
  const [ofFirst, ofSecond] = await Promise.all(edges.map((edge) => edge.requestAll()))
  const rows = (views = ofFirst) => views!.map(({ service, revision: of }) => `${service} ${of}`).toSorted()
  expect(rows()).toEqual(['edge first', 'edge second', 'keys after', 'keys other', 'metering null'])
  expect(rows(ofSecond)).toEqual(rows())
  expect(new Set(ofFirst!.map(({ process }) => process)).size).toBe(5)
})

test('a process that is gone is no longer listed', async () => {
  const edge = await openEdge('first')
  const keys = await describeConfig(await openBus(), 'keys', () => 'first')
  expect(await edge.requestAll()).toHaveLength(2)
  await keys[Symbol.asyncDispose]()
  expect(await edge.requestAll()).toMatchObject([{ service: 'edge' }])
})
