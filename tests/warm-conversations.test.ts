/**
 * A pool with `affinity: conversation`, through the whole gateway. The turns of a coding tool reach the engine that has their
 * beginning in its prompt cache. The tool's attribution block changes with each turn.
 */

import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type GatewayInProcess, startGatewayInProcess } from './prices/gateway-in-process.ts'
import { goodChat, startHttpBackend, type HttpBackend } from '../services/router/test/http-backend.ts'
import { send } from './promises/gateway.ts'

const ENGINES = 4

const stack = new AsyncDisposableStack()
let gateway: GatewayInProcess
let engines: HttpBackend[]
let keys: string[]
beforeAll(async () => {
  gateway = stack.use(await startGatewayInProcess())
  engines = await Promise.all(Array.from({ length: ENGINES }, () => startHttpBackend(goodChat)))
  for (const engine of engines) stack.use(engine)
  keys = [await gateway.newKey('payg'), await gateway.newKey('payg')]
  const targets = engines.map((_, at) => ({ backend: `engine-${at}`, model: 'm', priority: 1 }))
  await gateway.configure({
    extends: 'default',
    backends: engines.map(({ url }, at) => ({ id: `engine-${at}`, url, capabilities: ['chat', 'tools'] })),
    pools: [{ id: 'engines', affinity: 'conversation', targets }],
    models: [{ id: 'agent', type: 'chat', pool: 'engines', multiplier: 1 }],
  })
  const isThere = async () => (await turn({ key: keys[0]!, session: 'first', number: 1 })) !== null
  await vi.waitUntil(isThere, { timeout: 20_000, interval: 100 })
}, 120_000)
afterAll(() => stack.disposeAsync())

interface Turn {
  key: string
  session: string
  number: number
  headers?: Record<string, string>
}

/** Sends a turn and returns the number of the engine that got it; null where the model is not there yet. */
async function turn({ key, session, number, headers }: Turn): Promise<number | null> {
  const before = engines.map(({ seen }) => seen.length)
  const said = Array.from({ length: number - 1 }, (_, at) => [
    { role: 'assistant', content: `Answer ${at}` },
    { role: 'user', content: `And ${at}?` },
  ])
  const block = `x-anthropic-billing-header: cc_version=2.1.42.a3f; cc_entrypoint=cli; cch=${number}fa0e;`
  const system = [block, `You work in /home/${session}.`].map((one) => ({ type: 'text', text: one }))
  const messages = [{ role: 'user', content: 'Fix the test.' }, ...said.flat()]
  const body = { model: 'agent', max_tokens: 20, system, messages }
  const { status } = await send(gateway.url, '/v1/messages', { key, body, ...(headers && { headers }) })
  if (status !== 200) return null
  return engines.findIndex(({ seen }, at) => seen.length > before[at]!)
}

async function enginesOf(turns: Turn[]): Promise<Set<number | null>> {
  const reached = new Set<number | null>()
  for (const one of turns) reached.add(await turn(one))
  return reached
}

const numbers = Array.from({ length: 8 }, (_, at) => at + 1)
const SESSIONS = Array.from({ length: 8 }, (_, at) => `session-${at}`)

test.each([
  ['that names its session', (session: string) => ({ 'x-claude-code-session-id': session })],
  ['that names none', () => undefined],
])('all turns of a client %s reach one engine, and others reach others', async (_, headersOf) => {
  const reached: (number | null)[] = []
  for (const session of SESSIONS) {
    const headers = headersOf(session)
    const turns = numbers.map((number) => ({ key: keys[0]!, session, number, ...(headers && { headers }) }))
    const some = await enginesOf(turns)
    expect([session, some.size]).toEqual([session, 1])
    reached.push(...some)
  }
  expect(new Set(reached).size).toBeGreaterThan(1)
})

test('a session id is the account’s own: others with the same id do not share its engine', async () => {
  const placesOf = async (key: string) => {
    const places: (number | null)[] = []
    for (const session of SESSIONS) {
      places.push(await turn({ key, session: 'x', number: 1, headers: { 'x-session-id': session } }))
    }
    return places
  }
  expect(await placesOf(keys[1]!)).not.toEqual(await placesOf(keys[0]!))
})

test('a turn begins with the bytes of the turn before, and no engine gets the block', () => {
  const [engine] = engines.toSorted((one, other) => other.seen.length - one.seen.length)
  const inOrder = engine!.seen.map(({ text }) => text).filter((prompt) => prompt.includes('/home/session-'))
  expect(inOrder.length).toBeGreaterThan(numbers.length)
  for (const [at, prompt] of inOrder.entries()) {
    expect(prompt).not.toContain('x-anthropic-billing-header')
    const next = inOrder[at + 1]
    if (next !== undefined && next.length > prompt.length) expect(next.startsWith(prompt.slice(0, -2))).toBe(true)
  }
})
