/**
 * Every process of a cluster is killed with SIGKILL, at each step of its work and at random moments, and each server once. Meanwhile
 * operators change keys and backends, and clients use them. Each confirmed change reaches the webhook under one id, those of a project
 * in order. Each row of the ledger stands in the exported files once.
 *
 * Routers know the backends that they have ejected by themselves, and forget them when they die. So the events of such a backend
 * alternate, and the last one has the state that the living routers report.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chance } from '../dev/chaos/plan/random.ts'
import { readExported, summarize, summarizeLedger } from '../services/metering/test/exported.ts'
import type { MeteringDatabase } from '../services/metering/src/db/tables.ts'
import { kill, killAtStep, PROCESSES, SERVERS, STEPS, until } from './flows-killed/kill.ts'
import { changeKeys, distinct, drainAndRestore } from './flows-killed/operators.ts'
import { hurry, openStage, type Stage } from './flows-killed/stage.ts'
import { GONE_MODEL, NARROW_PLANS } from './promises/gateway.ts'
import { startLoad } from './promises/load.ts'

const SEED = process.env['SEED'] || 'flows'
const PROJECTS = ['search', 'ads', 'maps']
const DRAINED = 'steady-b'
const FAILING = 'gone'
/** A look at the expiries is a minute away at most. */
const ARRIVED_WITHIN_MS = 120_000

const stack = new AsyncDisposableStack()
let stage: Stage
let confirmed: Map<string, string[]>
let drains: number
let spender: string
beforeAll(async () => {
  stage = await openStage(stack)
  await liveThroughKills()
}, 900_000)
afterAll(() => stack.disposeAsync())

async function liveThroughKills(): Promise<void> {
  const { admin, gateway } = stage
  const { projects } = admin.admin.organization
  const robotOf = async (project: string) =>
    (await projects.serviceAccounts.create(project, { name: 'robot' })).api_key!.value
  const ids = await Promise.all(PROJECTS.map(async (name) => (await projects.create({ name })).id))
  const { id } = await admin.post<{ id: string }>('/organization/projects', {
    body: { name: 'spender', plan: NARROW_PLANS.thousandTokens.slug },
  })
  spender = id
  const load = { well: await Promise.all(ids.map(robotOf)), spends: [await robotOf(spender)] }

  let isOver = false
  const story = { stage, isOver: () => isOver }
  confirmed = new Map(ids.map((project) => [project, []]))
  const operators = Array.from(confirmed, ([project, changes]) => changeKeys(story, project, changes))
  const draining = drainAndRestore(story, DRAINED)
  const loads = [
    startLoad(gateway, load.well, { model: 'svc-instant', clients: 3 }),
    startLoad(gateway, load.well, { model: GONE_MODEL, clients: 1 }),
    startLoad(gateway, load.spends, { model: 'svc-instant', clients: 1 }),
  ]
  const hurrying = setInterval(() => void hurry(stage).catch(() => {}), 250)
  stack.defer(() => clearInterval(hurrying))

  const random = chance(SEED)
  const blows = random.shuffled<string>([...STEPS, ...PROCESSES, ...SERVERS])
  for (const blow of blows) await (blow.includes('.') ? killAtStep(stage, blow) : kill(stage, blow))

  isOver = true
  await Promise.all(operators)
  drains = await draining
  await until('the backend that fails is out', async () => eventsOf(FAILING).at(-1)?.type === 'backend.ejected')
  await Promise.all(loads.map((each) => each.stop()))
}

const arrived = () => distinct(stage.receiver.received)
const eventsOf = (backend: string) => arrived().filter(({ data }) => data['backend'] === backend)
const keyEvents = () => arrived().filter(({ type }) => type.startsWith('key.'))
const count = (type: string) => keyEvents().filter((event) => event.type === type).length

async function countRows(query: string): Promise<number> {
  return Number(
    (await stage.database.query<{ count: string }>(`select count(*) as count from ${query}`)).rows[0]!.count,
  )
}

describe('after kills of every process', () => {
  test('each change that is stored has one event', async () => {
    const keys = `(select key_id, deactivated_at, expires_at from keys.project_keys) as key`
    await expect.poll(() => count('key.created'), { timeout: ARRIVED_WITHIN_MS }).toBe(await countRows(keys))
    const dead = await countRows(`${keys} where deactivated_at is not null`)
    await expect.poll(() => count('key.revoked'), { timeout: ARRIVED_WITHIN_MS }).toBe(dead)
    const rotated = await countRows('keys.replaced_values')
    await expect.poll(() => count('key.rotated'), { timeout: ARRIVED_WITHIN_MS }).toBe(rotated)
    const expiring = await countRows(`${keys} where expires_at is not null and deactivated_at is null`)
    await expect.poll(() => count('key.expiring'), { timeout: ARRIVED_WITHIN_MS }).toBe(expiring)
    expect(Math.min(dead, rotated, expiring)).toBeGreaterThan(0)
  })

  test('each confirmed change of a project has arrived, in the order of the confirmations', () => {
    for (const [project, changes] of confirmed) {
      const events = keyEvents().filter(({ data }) => data['project_id'] === project)
      const rest = events.map(({ type, data }) => `${String(data['key_id'])} ${type}`).values()
      expect(changes.length).toBeGreaterThan(0)
      expect(changes.filter((change) => !rest.some((event) => event === change))).toEqual([])
    }
  })

  test('an event has one id in all its deliveries', () => {
    const contents = Map.groupBy(stage.receiver.attempted, ({ id }) => id)
    for (const deliveries of contents.values()) {
      const [first, ...others] = deliveries.map(({ type, timestamp, data }) => ({ type, timestamp, data }))
      for (const other of others) expect(other).toEqual(first)
    }
    expect(stage.receiver.refused).toEqual([])
  })

  test('the thresholds of an allowance have arrived once each, in order', async () => {
    const reached = () =>
      arrived().filter(({ type, data }) => type === 'allowance.reached' && data['project_id'] === spender)
    await expect.poll(() => reached().map(({ data }) => data['percent'])).toEqual([80, 100])
  })

  test('each drain and each restoration of a backend has arrived', () => {
    const types = eventsOf(DRAINED).map(({ type }) => type)
    expect(drains).toBeGreaterThan(0)
    expect(types.length).toBeGreaterThanOrEqual(drains)
    expect(types).toEqual(types.map((_, index) => (index % 2 === 0 ? 'backend.ejected' : 'backend.restored')))
  })

  test('the events of a backend that routers ejected alternate, and the last says that it is out', () => {
    const types = eventsOf(FAILING).map(({ type }) => type)
    expect(types).toEqual(types.map((_, index) => (index % 2 === 0 ? 'backend.ejected' : 'backend.restored')))
    expect(types.length % 2).toBe(1)
  })

  test('each row of the ledger is in the files once, and the sums are the same', async () => {
    const ledger = stage.database as unknown as MeteringDatabase
    const agree = async () => {
      await hurry(stage)
      const [exported, recorded] = [summarize(await readExported(stage.files)), await summarizeLedger(ledger)]
      return (
        Object.keys(recorded.originals).length > 0 &&
        JSON.stringify(sorted(exported)) === JSON.stringify(sorted(recorded))
      )
    }
    await expect.poll(agree, { timeout: ARRIVED_WITHIN_MS, interval: 1_000 }).toBe(true)
    expect(summarize(await readExported(stage.files))).toEqual(await summarizeLedger(ledger))
  })
})

function sorted(summary: ReturnType<typeof summarize>) {
  const inOrder = (values: Record<string, number>) => Object.entries(values).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.values(summary).map(inOrder)
}
