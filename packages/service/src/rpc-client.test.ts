import { encodeJson } from '@gateway/service/rpc-client'
import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import { RemoteError } from '@gateway/bus/port'
import { procedures } from '@gateway/contracts/bus-roles'
import { groups, subjects } from '@gateway/contracts/subjects'
import { expect, expectTypeOf, test } from 'vitest'
import { createLogger } from '@gateway/telemetry/logger'
import { createMetrics } from '@gateway/telemetry/metrics'
import { type Handlers, serve, rpcClient, type RpcClient } from './rpc-client.ts'

const timeoutMs = 1_000
const logger = createLogger({ service: 'router', level: 'silent' })
const metrics = createMetrics({ service: 'router' })

async function openTwo() {
  const opened = new AsyncDisposableStack()
  const failures: unknown[] = []
  const hub = createMemoryHub()
  const open = () =>
    openMemoryBus({ hub, onStatus: (status) => status.type === 'error' && failures.push(status.error) })
  const [near, far] = [opened.use(await open()), opened.use(await open())]
  return { near, far, failures, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

test('a service is offered only what the table lets it say and hear, in the shape of the contract', () => {
  const wrong = (router: RpcClient<'router'>, edge: RpcClient<'edge'>, keys: RpcClient<'keys'>) => [
    // @ts-expect-error A router asks keys nothing.
    router.ask('keysFill', { account: 'a', keyHash: 'k' }, { timeoutMs }),
    // @ts-expect-error The question has no key's hash.
    edge.ask('keysFill', { account: 'a' }, { timeoutMs }),
    // @ts-expect-error News are no question.
    edge.ask('keysInvalidated', {}, { timeoutMs }),
    // @ts-expect-error Keys alone says that a key is dead.
    edge.tell('keysInvalidated', { account: 'a', keyHash: 'k', keyId: 'i', reason: 'revoked' }),
    // @ts-expect-error No key dies for this reason.
    keys.tell('keysInvalidated', { account: 'a', keyHash: 'k', keyId: 'i', reason: 'bored' }),
    // @ts-expect-error Edges hear of dead keys, keys itself does not.
    keys.hear('keysInvalidated', () => {}),
    // @ts-expect-error Keys reports no usage.
    keys.report('usage', { v: 1, events: [] }, { timeoutMs }),
  ]
  expectTypeOf(wrong).toBeFunction()
  expectTypeOf<keyof Handlers<'router'>>().toEqualTypeOf<'routersShow' | 'routersCountTokens'>()
  expectTypeOf<Awaited<ReturnType<Handlers<'keys'>['keysMint']>>>().toEqualTypeOf<{
    kind: 'minted'
    key: string
    plan: string
  }>()
  const answered = Object.values(procedures).filter(({ kind, to }) => kind === 'question' && String(to) === 'metering')
  expect(answered).toHaveLength(Object.keys(meteringHandlers).length)
})

const never = () => Promise.reject(new Error('not asked here'))
/** One that is missing or too many does not compile. */
const meteringHandlers: Handlers<'metering'> = {
  meteringQuota: never,
  meteringWarm: never,
  meteringAccountUsage: never,
  meteringUsageByAccount: never,
  meteringReconcile: never,
}

test('a question and its answer arrive with the defaults of the contract', async () => {
  await using buses = await openTwo()
  const reply = { accounts: ['a'], drifts: [], isLast: true }
  await using _ = await buses.far.serve(subjects.keysReconcile, groups.keys, async () => encodeJson(reply))
  const asked = await rpcClient('ctl', buses.near).ask('keysReconcile', { after: null, repair: false }, { timeoutMs })
  expect(asked).toEqual({ ...reply, plans: [] })
})

test('a question that does not fit its schema reaches no handler, and its asker is told', async () => {
  await using buses = await openTwo()
  let handled = 0
  const handlers: Handlers<'metering'> = {
    ...meteringHandlers,
    meteringWarm: async () => ({ kind: 'warmed', handled: ++handled }),
  }
  await using _ = await serve({ bus: buses.far, logger, metrics }, 'metering', handlers)
  const wrong = buses.near.request(subjects.meteringWarm, encodeJson({ acount: 'a' }), { timeoutMs })
  await expect(wrong).rejects.toBeInstanceOf(RemoteError)
  expect(handled).toBe(0)
  const right = rpcClient('edge', buses.near).ask('meteringWarm', { account: 'a' }, { timeoutMs })
  expect(await right).toEqual({ kind: 'warmed' })
})

test('an answer that does not fit its schema is no answer', async () => {
  await using buses = await openTwo()
  await using _ = await buses.far.serve(subjects.keysFill, groups.keys, async () => encodeJson({ kind: 'perhaps' }))
  const asking = rpcClient('edge', buses.near).ask('keysFill', { account: 'a', keyHash: 'k' }, { timeoutMs })
  await expect(asking).rejects.toThrow('kind')
})

test('news that a listener cannot read are told as a fault of the bus, and the next news are heard', async () => {
  await using buses = await openTwo()
  const heard = Promise.withResolvers<string>()
  await using _ = await rpcClient('edge', buses.far).hear('keysInvalidated', ({ keyId }) => heard.resolve(keyId))
  buses.near.broadcast(subjects.keysInvalidated, Buffer.from('no JSON'))
  rpcClient('keys', buses.near).tell('keysInvalidated', { account: 'a', keyHash: 'k', keyId: 'i', reason: 'revoked' })
  expect(await heard.promise).toBe('i')
  expect(buses.failures).toMatchObject([{ name: 'SyntaxError' }])
})
