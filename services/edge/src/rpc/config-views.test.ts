import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import { describeConfig } from '@gateway/rpc/describe-config'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ConfigViews, openConfigViews } from './config-views.ts'

let opened: AsyncDisposableStack
let hub: ReturnType<typeof createMemoryHub>
beforeEach(() => {
  opened = new AsyncDisposableStack()
  hub = createMemoryHub()
})
afterEach(() => opened.disposeAsync())

const openBus = async () => opened.use(await openMemoryBus({ hub }))
const openEdge = async (revision: string) => opened.use(await openConfigViews(await openBus(), () => revision))

async function rowsOf(edge: ConfigViews): Promise<string[]> {
  const { views } = await edge.query({})
  expect(new Set(views.map(({ process }) => process)).size).toBe(views.length)
  return views.map(({ service, revision }) => `${service} ${revision}`).toSorted()
}

test('every edge, keys and metering process replies for itself, to each edge that queries', async () => {
  const edges = [await openEdge('first'), await openEdge('second')]
  let revision = 'before'
  opened.use(await describeConfig(await openBus(), 'keys', () => revision))
  opened.use(await describeConfig(await openBus(), 'keys', () => 'other'))
  opened.use(await describeConfig(await openBus(), 'metering', () => null))
  revision = 'after'
  const expected = ['edge first', 'edge second', 'keys after', 'keys other', 'metering null']
  await Promise.all(edges.map((edge) => expect.poll(() => rowsOf(edge)).toEqual(expected)))
})

test('a process that starts is listed by the next request, which waits for its reply', async () => {
  const edge = await openEdge('first')
  expect(await rowsOf(edge)).toEqual(['edge first'])
  opened.use(await describeConfig(await openBus(), 'keys', () => 'first'))
  expect(await rowsOf(edge)).toEqual(['edge first', 'keys first'])
})

test('a process that is gone is no longer listed', async () => {
  const edge = await openEdge('first')
  const keys = await describeConfig(await openBus(), 'keys', () => 'first')
  expect(await rowsOf(edge)).toEqual(['edge first', 'keys first'])
  await keys[Symbol.asyncDispose]()
  expect(await rowsOf(edge)).toEqual(['edge first'])
})
