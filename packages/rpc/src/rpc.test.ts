import { createMemoryHub, openMemoryBus } from '@gateway/bus/memory'
import { RemoteError } from '@gateway/bus/port'
import { procedures } from '@gateway/contracts/bus-roles'
import { groups, subjects } from '@gateway/contracts/subjects'
import { expect, expectTypeOf, test } from 'vitest'
import { createLogger } from '@gateway/telemetry/logger'
import { createMetrics } from '@gateway/telemetry/metrics'
import { rpcClient, type RpcClient } from './client.ts'
import { encodeJson } from './json.ts'
import { type Handlers, serve } from './server.ts'

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

test('a service can send and receive only the messages of the table, in the shape of the contract', () => {
  const wrong = (router: RpcClient<'router'>, edge: RpcClient<'edge'>, keys: RpcClient<'keys'>) => [
    // @ts-expect-error A router sends keys no request.
    router.request('keysFill', { account: 'a', keyHash: 'k' }, { timeoutMs }),
    // @ts-expect-error The request lacks the key's hash.
    edge.request('keysFill', { account: 'a' }, { timeoutMs }),
    // @ts-expect-error An event is not a request.
    edge.request('keysInvalidated', {}, { timeoutMs }),
    // @ts-expect-error Keys alone publishes that a key is dead.
    edge.publish('keysInvalidated', { account: 'a', keyHash: 'k', keyId: 'i', reason: 'revoked' }),
    // @ts-expect-error No key dies for this reason.
    keys.publish('keysInvalidated', { account: 'a', keyHash: 'k', keyId: 'i', reason: 'bored' }),
    // @ts-expect-error Edges subscribe to dead keys, keys itself does not.
    keys.subscribe('keysInvalidated', () => {}),
    // @ts-expect-error Keys reports no usage.
    keys.report('usage', { v: 1, events: [] }, { timeoutMs }),
  ]
  expectTypeOf(wrong).toBeFunction()
  expectTypeOf<keyof Handlers<'router'>>().toEqualTypeOf<'routersShow' | 'routersCountTokens'>()
  expectTypeOf<Awaited<ReturnType<Handlers<'keys'>['keysRevokeById']>>>().toEqualTypeOf<
    { kind: 'revoked'; account: string } | { kind: 'unknown' }
  >()
  const served = Object.values(procedures).filter(({ kind, to }) => kind === 'question' && String(to) === 'metering')
  expect(served).toHaveLength(Object.keys(meteringHandlers).length)
})

const never = () => Promise.reject(new Error('not called here'))
/** A missing or superfluous handler does not compile. */
const meteringHandlers: Handlers<'metering'> = {
  meteringQuota: never,
  meteringWarm: never,
  meteringAccountUsage: never,
  meteringUsageByAccount: never,
  meteringReconcile: never,
  meteringAdminister: never,
  meteringOverview: never,
}

test('a request and its reply arrive with the defaults of the contract', async () => {
  await using buses = await openTwo()
  const reply = { accounts: ['a'], drifts: [], isLast: true }
  await using _ = await buses.far.serve(subjects.keysReconcile, groups.keys, async () => encodeJson(reply))
  const received = await rpcClient('ctl', buses.near).request(
    'keysReconcile',
    { after: null, repair: false },
    { timeoutMs },
  )
  expect(received).toEqual({ ...reply, plans: [] })
})

test('a request that does not fit its schema reaches no handler, and its caller receives an error', async () => {
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
  const right = rpcClient('edge', buses.near).request('meteringWarm', { account: 'a' }, { timeoutMs })
  expect(await right).toEqual({ kind: 'warmed' })
})

test('a reply that does not fit its schema fails the request', async () => {
  await using buses = await openTwo()
  await using _ = await buses.far.serve(subjects.keysFill, groups.keys, async () => encodeJson({ kind: 'perhaps' }))
  const requesting = rpcClient('edge', buses.near).request('keysFill', { account: 'a', keyHash: 'k' }, { timeoutMs })
  await expect(requesting).rejects.toThrow('kind')
})

test('the bus reports an event that a subscriber cannot read, and the subscriber receives the next event', async () => {
  await using buses = await openTwo()
  const received = Promise.withResolvers<string>()
  await using _ = await rpcClient('edge', buses.far).subscribe('keysInvalidated', ({ keyId }) =>
    received.resolve(keyId),
  )
  buses.near.broadcast(subjects.keysInvalidated, Buffer.from('no JSON'))
  rpcClient('keys', buses.near).publish('keysInvalidated', {
    account: 'a',
    keyHash: 'k',
    keyId: 'i',
    reason: 'revoked',
  })
  expect(await received.promise).toBe('i')
  expect(buses.failures).toMatchObject([{ name: 'SyntaxError' }])
})
