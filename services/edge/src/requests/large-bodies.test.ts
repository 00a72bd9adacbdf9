import { globSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { loadDefaultConfig } from '@gateway/config/load-config'
import { GatewayError } from '@gateway/contracts/errors'
import { hostedTools } from '@gateway/contracts/hosted-tools'
import fc from 'fast-check'
import type { ClientDialect } from '@gateway/contracts/vendors'
import { CLIENTS } from '@gateway/testing/client-fixtures'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { makeOffer } from '../admission/admit.ts'
import { KINDS, type KindName } from './kinds.ts'
import { openLargeBodies, type LargeBodies } from './large-bodies.ts'
import { countTokens } from './messages.ts'
import { BodyBytes, LargeJson, parseJson } from './parse-json.ts'
import { understand, type Understood } from './understand.ts'

const { config: usualConfig } = loadDefaultConfig()
/** Each model may run every tool of a vendor. */
const config = {
  ...usualConfig,
  models: usualConfig.models.map((one) => (one.type === 'chat' ? { ...one, hostedTools: [...hostedTools] } : one)),
}
const shed: string[] = []
const used: number[] = []
let bodies: LargeBodies
beforeEach(() => {
  shed.length = 0
  // A busy machine starts a thread late; who waits for too long has a test of its own.
  bodies = openLargeBodies((reason) => shed.push(reason), 120_000)
})
afterEach(() => bodies[Symbol.asyncDispose]())

const large = (text: string) => {
  const bytes = Buffer.from(text)
  const body = new BodyBytes(bytes.length)
  for (const piece of [bytes.subarray(0, 7), bytes.subarray(7)]) body.add(piece)
  return new LargeJson(body.own())
}
const inThread = (kind: KindName, text: string, sender = 'a') =>
  bodies.understand(config, KINDS[kind], large(text), { sender, usedThread: (ms) => used.push(ms) })
const inPlace = (kind: KindName, text: string) => understand(config, KINDS[kind], parseJson(Buffer.from(text)))

/** All values that the rest of a request's way reads of it. */
function valuesOf({ inference, model }: Understood): unknown {
  const { estimate: _estimate, hostedCalls: _calls, vectorsOf, conversationKey, messages: _, body, ...rest } = inference
  const offers = config.plans.map((plan) => makeOffer(config, plan.slug, model, inference))
  const vectors = vectorsOf?.(model)
  return { ...rest, model, offers, vectors, key: conversationKey?.(), body: Buffer.from(body).toString() }
}

const message = fc.record({
  role: fc.constantFrom('user', 'assistant'),
  content: fc.oneof(
    fc.string({ minLength: 1 }),
    fc.array(fc.record({ type: fc.constant('text'), text: fc.string() }), { minLength: 1 }),
  ),
})
const messages = fc.array(message, { minLength: 1, maxLength: 8 })
const model = fc.constantFrom('svc-best', 'svc-instant', 'svc-agent', 'svc-pro')
/** Undefined most of the time, as in usual requests. */
const toolsOf = (...types: string[]) =>
  fc.option(fc.array(fc.record({ type: fc.constantFrom(...types), name: fc.constant('t') }), { maxLength: 4 }), {
    nil: undefined,
  })
const requests: Partial<Record<KindName, fc.Arbitrary<object>>> = {
  chat: fc.record({
    model,
    messages,
    max_tokens: fc.option(fc.integer({ min: 1, max: 900 })),
    stream: fc.boolean(),
    seed: fc.constant(5),
    web_search_options: fc.constantFrom(undefined, {}),
  }),
  messages: fc.record({
    model,
    messages,
    max_tokens: fc.integer({ min: 1, max: 900 }),
    tools: toolsOf('web_search_20250305', 'web_fetch_20250910', 'custom', 'of_tomorrow'),
  }),
  responses: fc.record({
    model,
    input: fc.oneof(fc.string(), messages),
    instructions: fc.string({ maxLength: 5_000 }),
    stream: fc.boolean(),
    tools: toolsOf('web_search', 'file_search', 'mcp', 'function', 'of_tomorrow'),
    max_tool_calls: fc.option(fc.integer({ min: 1, max: 30 })),
  }),
  compact: fc.record({ model, input: fc.oneof(fc.string(), messages), instructions: fc.string({ maxLength: 5_000 }) }),
  embeddings: fc.record({
    model: fc.constant('svc-embed'),
    input: fc.array(fc.string({ minLength: 1 }), { minLength: 1 }),
  }),
  images: fc.record({ model: fc.constant('svc-image'), prompt: fc.string({ minLength: 1 }) }),
}

const usual = (dialect: ClientDialect) =>
  fc.record({ model, content: fc.string({ minLength: 1 }) }).map(({ model: id, content }) => ({
    model: id,
    ...CLIENTS[dialect].body(content, 9),
  }))

describe.each(Object.keys(KINDS) as KindName[])('%s', (kind) => {
  test('a body means the same whichever thread reads it', async () => {
    await fc.assert(
      fc.asyncProperty(requests[kind] ?? usual(kind as ClientDialect), async (request) => {
        const text = JSON.stringify(request)
        expect(valuesOf(await inThread(kind, text))).toEqual(valuesOf(inPlace(kind, text)))
      }),
      { numRuns: 60 },
    )
  })
})

test.each(['{"model":', '{"messages":"hi"}', '{"model":"nothing","messages":[{"role":"user","content":"x"}]}', '7'])(
  'the fault of %s is reported in the same words',
  async (text) => {
    const inWords = (error: unknown) => {
      const { code, message, details } = error as GatewayError
      return { code, message, details }
    }
    const faults = await Promise.allSettled([inThread('chat', text), (async () => inPlace('chat', text))()])
    const [there, here] = faults.map((fault) => fault.status === 'rejected' && inWords(fault.reason))
    expect(there).toMatchObject({ code: expect.any(String), message: expect.any(String) })
    expect(there).toEqual(here)
  },
)

test('tokens are counted as they are in place', async () => {
  const text = JSON.stringify({ model: 'svc-core', messages: [{ role: 'user', content: 'word '.repeat(900) }] })
  expect(await bodies.countTokens(config, large(text), { sender: 'a', usedThread() {} })).toEqual(
    countTokens(JSON.parse(text)),
  )
})

test('the event loop goes on while twenty thousand messages are read', async () => {
  const many = Array.from({ length: 20_000 }, (_, at) => ({ role: 'user', content: `hello hi ${at}`.repeat(9) }))
  const text = JSON.stringify({ model: 'svc-core', messages: many })
  // The thread is there.
  await inThread('chat', '{"messages":[{"role":"user","content":"x"}]}')
  let turns = 0
  const turning = setInterval(() => turns++, 1)
  await inThread('chat', text).finally(() => clearInterval(turning))
  expect(turns).toBeGreaterThan(3)
})

test('a request learns the CPU time that a thread took to read its body, right or wrong', async () => {
  used.length = 0
  await inThread('chat', JSON.stringify({ messages: [{ role: 'user', content: 'word '.repeat(200_000) }] }))
  await expect(inThread('chat', `${'['.repeat(20)}${'"x",'.repeat(200_000)}`)).rejects.toThrow()
  expect(used).toHaveLength(2)
  for (const ms of used) expect(ms).toBeGreaterThan(0)
})

/** Of the threads that read bodies: the kernel keeps 15 letters of a name. */
const priorities = () =>
  globSync('/proc/self/task/*/stat').flatMap((path) => {
    const stat = /\((.*)\) (.*)/s.exec(readFileSync(path, 'utf8'))
    return stat?.[1] === 'large bodies' ? [Number(stat[2]!.split(' ')[16])] : []
  })

test.runIf(process.platform === 'linux')(
  'a thread that reads is there before the first body, and gives way to the event loop',
  { timeout: 120_000 },
  async () => {
    await bodies[Symbol.asyncDispose]()
    await expect.poll(priorities).toEqual([])
    bodies = openLargeBodies((reason) => shed.push(reason), 120_000)
    await expect.poll(priorities, { timeout: 60_000 }).toEqual([getPriority() + 5])
    await inThread('chat', '{"messages":[{"role":"user","content":"x"}]}')
    expect(priorities()).toEqual([getPriority() + 5])
  },
)

test('senders take turns: one with a crowd of bodies makes another wait for a few of them', async () => {
  const heavy = JSON.stringify({ messages: Array.from({ length: 2_000 }, () => ({ role: 'user', content: 'x' })) })
  const order: string[] = []
  const crowd = Array.from({ length: 60 }, () => inThread('chat', heavy, 'crowd').then(() => order.push('crowd')))
  await inThread('chat', heavy, 'one').then(() => order.push('one'))
  expect(order.indexOf('one')).toBeLessThan(10)
  await Promise.all(crowd)
})

test('a sender that fills the queue learns when to come back, and others find a place', async () => {
  const heavy = JSON.stringify({ messages: Array.from({ length: 200 }, () => ({ role: 'user', content: 'x' })) })
  const crowd = Array.from({ length: 400 }, () => inThread('chat', heavy, 'crowd').catch((error: unknown) => error))
  expect((await inThread('chat', heavy, 'one')).model.id).toBe('svc-chat-md')
  const refused = (await Promise.all(crowd)).filter((outcome) => outcome instanceof GatewayError)
  expect(refused.length).toBeGreaterThan(100)
  expect(refused[0]).toMatchObject({ code: 'rate_limit_exceeded', details: { type: 'requests', retryAfterMs: 1_000 } })
  expect(new Set(shed)).toEqual(new Set(['sender_full']))
})

test('a request that would wait for too long learns when to come back', async () => {
  await using impatient = openLargeBodies((reason) => shed.push(reason), 1)
  const heavy = JSON.stringify({ messages: Array.from({ length: 20_000 }, () => ({ role: 'user', content: 'x' })) })
  const crowd = Array.from({ length: 8 }, () =>
    impatient.understand(config, KINDS['chat'], large(heavy), { sender: 'crowd', usedThread() {} }),
  )
  const refused = (await Promise.allSettled(crowd)).flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
  expect(refused.length).toBeGreaterThan(0)
  expect(refused[0]).toMatchObject({ code: 'SERVICE_UNAVAILABLE', details: { retryAfterMs: 1_000 } })
  expect(new Set(shed)).toEqual(new Set(['late']))
})
