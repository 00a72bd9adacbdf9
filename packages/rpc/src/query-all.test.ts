import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import { openNatsBus } from '@gateway/bus/nats'
import type { Bus } from '@gateway/bus/port'
import { startNats } from '@gateway/servers/start'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { decodeJson, encodeJson } from './json.ts'
import { openQueryAll, type QueryAll } from './query-all.ts'

interface Question {
  wanted: string
}
interface View {
  name: string
  text: string
}
interface Message extends Question {
  question: string
}
interface Reply {
  question: string
  view: View
}

/** Longer than a loaded machine takes, and longer than a test may wait for processes that have all replied. */
const replyWithinMs = { unknown: 1_000, known: 10_000 }
const QUERY = 'test.describe'
const REPLY = 'test.described'

const worlds = [
  {
    name: 'in memory',
    async create() {
      const hub = createMemoryHub()
      return { open: () => openMemoryBus({ hub }), [Symbol.asyncDispose]: async () => {} }
    },
  },
  {
    name: 'on NATS',
    async create() {
      const server = await startNats({ own: true })
      return {
        open: () => openNatsBus({ url: server.url, name: 'query-all' }),
        [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
      }
    },
  },
]

describe.each(worlds)('$name', ({ create }) => {
  let opened: AsyncDisposableStack
  let openBus: () => Promise<Bus>
  beforeEach(async () => {
    opened = new AsyncDisposableStack()
    const world = opened.use(await create())
    openBus = async () => opened.use(await world.open())
  })
  afterEach(() => opened.disposeAsync())

  /** Replies to each question, `times` over. */
  const reply = (bus: Bus, name: string, times = 1) =>
    bus.listen(QUERY, (payload) => {
      const { question, wanted } = decodeJson(payload) as Message
      for (let sent = 0; sent < times; sent++) {
        bus.broadcast(REPLY, encodeJson({ question, view: { name, text: `${wanted} of ${name}` } } satisfies Reply))
      }
    })

  async function openOne(name: string, options: { others?(): string[]; within?: typeof replyWithinMs } = {}) {
    const bus = await openBus()
    const stack = opened.use(new AsyncDisposableStack())
    const all: QueryAll<Question, View> = stack.use(
      await openQueryAll<Question, View>({
        publish: (question) => bus.broadcast(QUERY, encodeJson(question)),
        subscribe: (onReply) => bus.listen(REPLY, (payload) => onReply(decodeJson(payload) as Reply)),
        nameOf: (view) => view.name,
        self: name,
        ...(options.others && { others: options.others }),
        replyWithinMs: options.within ?? replyWithinMs,
      }),
    )
    const replying = stack.use(await reply(bus, name))
    return {
      query: async (wanted = 'news') => {
        const { views, known } = await all.query({ wanted })
        return { texts: views.map(({ text }) => text).toSorted(), known }
      },
      bus,
      /** It listens no more. */
      silence: () => replying[Symbol.asyncDispose](),
    }
  }

  async function tookMs(action: () => Promise<unknown>): Promise<number> {
    const startedAtMs = performance.now()
    await action()
    return performance.now() - startedAtMs
  }

  test('every process replies once to each question, the process that sends it among them', async () => {
    const [first, second] = [await openOne('a'), await openOne('b')]
    opened.use(await reply(await openBus(), 'c', 3))
    const [toFirst, toSecond] = await Promise.all([first.query('news'), second.query('weather')])
    expect(toFirst).toEqual({ texts: ['news of a', 'news of b', 'news of c'], known: 3 })
    expect(toSecond).toEqual({ texts: ['weather of a', 'weather of b', 'weather of c'], known: 3 })
  })

  test('the first question waits for processes that nobody knows, and a later one ends with the last known reply', async () => {
    const first = await openOne('a')
    await openOne('b')
    expect(await tookMs(() => first.query())).toBeGreaterThan(0.9 * replyWithinMs.unknown)
    expect(await tookMs(() => first.query())).toBeLessThan(replyWithinMs.unknown)
  })

  test('a process that stops is missed once, and is not expected again until it replies to anybody', async () => {
    const first = await openOne('a', { within: { unknown: 500, known: 1_000 } })
    const second = await openOne('b')
    expect(await first.query()).toMatchObject({ known: 2 })
    await second.silence()
    expect(await first.query()).toEqual({ texts: ['news of a'], known: 2 })
    expect(await first.query()).toEqual({ texts: ['news of a'], known: 1 })
    opened.use(await reply(second.bus, 'b'))
    await second.query()
    expect(await first.query()).toEqual({ texts: ['news of a', 'news of b'], known: 2 })
  })

  test('a process that reports on its own is known: the next question waits for its reply', async () => {
    const first = await openOne('a')
    await first.query()
    const bus = await openBus()
    opened.use(
      await bus.listen(QUERY, (payload) => {
        const { question } = decodeJson(payload) as Message
        setTimeout(() => bus.broadcast(REPLY, encodeJson({ question, view: { name: 'b', text: 'late' } })), 200)
      }),
    )
    bus.broadcast(REPLY, encodeJson({ question: 'nobody sent it', view: { name: 'b', text: 'here' } }))
    await expect.poll(() => first.query()).toEqual({ texts: ['late', 'news of a'], known: 2 })
  })

  test('where processes announce themselves, no question waits for others, and a silent one is missed each time', async () => {
    const others: string[] = []
    const first = await openOne('a', { others: () => others, within: { unknown: 60_000, known: 1_000 } })
    expect(await first.query()).toEqual({ texts: ['news of a'], known: 1 })
    others.push('b')
    expect(await first.query()).toEqual({ texts: ['news of a'], known: 2 })
    opened.use(await reply(await openBus(), 'b'))
    expect(await first.query()).toEqual({ texts: ['news of a', 'news of b'], known: 2 })
  })
})
