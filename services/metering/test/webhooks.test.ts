/**
 * Events of the durable stream reach real receivers through metering, by e-mail too. Each arrives at least once with the same id,
 * and those of a project in order.
 */

import { createMemoryHub, openMemoryBus, type MemoryHub } from '@gateway/bus/memory'
import type { AccountKeyEvent, SpendAlertEvent } from '@gateway/contracts/account-events'
import { configFile, type GatewayConfig } from '@gateway/contracts/config'
import type { AccountThreshold } from '@gateway/contracts/quota-status'
import { consumedAccountStream, groups, subjects } from '@gateway/contracts/subjects'
import type { WebhookConfig } from '@gateway/contracts/webhooks'
import { createMetrics } from '@gateway/telemetry/metrics'
import { createLogger } from '@gateway/telemetry/logger'
import { openDatabase, type Database } from '@gateway/postgres/database'
import { migrate } from '@gateway/postgres/migrate'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { MeteringTables } from '../src/db/tables.ts'
import { administer } from '../src/handlers/administer.ts'
import { startWebhooks } from '../src/webhooks/start.ts'
import { startMailServer } from './mail-server.ts'
import { FORMER_SECRET, SECRET, startReceiver, type Receiver } from './webhook-receiver.ts'

let postgres: PostgresServer
let running: AsyncDisposableStack
let hub: MemoryHub
let database: Database<MeteringTables>
let receiver: Receiver

beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => {
  running = new AsyncDisposableStack()
  const { url } = running.use(await postgres.createDatabase())
  await migrate(url, { schema: 'metering', directory: `${import.meta.dirname}/../src/db/migrations` })
  database = running.use(await openDatabase<MeteringTables>(url))
  hub = createMemoryHub({ streams: [consumedAccountStream] })
  receiver = running.use(await startReceiver())
})
afterEach(() => running.disposeAsync())

type Refused = { text: string; problems: { field: string; message: string }[] }

interface Process extends AsyncDisposable {
  change(...webhooks: object[]): void
  refuse(refused: Refused): void
  webhooks(): readonly WebhookConfig[]
}

/** One process of metering with these webhooks. */
async function startProcess(webhooks: object[], smtpUrl?: string): Promise<Process> {
  let current = configWith(webhooks)
  const changes = new Set<(config: GatewayConfig) => void>()
  const refusals = new Set<(refused: Refused) => void>()
  const bus = await openMemoryBus({ hub })
  const started = await startWebhooks({
    config: {
      get current() {
        return current
      },
      onChange: (listener) => registered(changes, listener),
      onRefused: (listener) => registered(refusals, listener),
    },
    environment: { HOOK_SECRET: SECRET },
    smtpUrl,
    bus,
    database,
    logger: createLogger({ service: 'metering', level: 'silent' }),
    metrics: createMetrics({ service: 'metering' }),
  })
  return running.use({
    change(...changed) {
      current = configWith(changed)
      for (const listener of changes) listener(current)
    },
    refuse(refused) {
      for (const listener of refusals) listener(refused)
    },
    webhooks: () => current.webhooks ?? [],
    async [Symbol.asyncDispose]() {
      await started[Symbol.asyncDispose]()
      await bus[Symbol.asyncDispose]()
    },
  })
}

function registered<Listener>(listeners: Set<Listener>, listener: Listener): Disposable {
  listeners.add(listener)
  return { [Symbol.dispose]: () => void listeners.delete(listener) }
}

function configWith(webhooks: object[]): GatewayConfig {
  return {
    backends: [],
    pools: [],
    models: [],
    plans: [],
    revision: '1',
    webhooks: configFile.parse({ webhooks }).webhooks,
  }
}

const hook = (more: object = {}) => ({ url: receiver.url, secret: '${HOOK_SECRET}', allowPrivate: true, ...more })

async function publish(subject: string, event: object): Promise<void> {
  await using bus = await openMemoryBus({ hub })
  await bus.durable.publish(subject, Buffer.from(JSON.stringify(event)), { timeoutMs: 10_000 })
}

/** Webhooks that are new get no older events. */
const now = () => new Date().toISOString()
const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString()

const keyEvent = (more: Partial<AccountKeyEvent> = {}): AccountKeyEvent => ({
  ...{ v: 1, id: 'k1.created', change: 'created', account: 'acct0001', accountKind: 'project', projectName: 'Search' },
  ...{ keyId: 'k1', name: 'ci', at: now() },
  ...more,
})
const publishKey = (more: Partial<AccountKeyEvent> = {}) => publish(subjects.accountKey, keyEvent(more))

const spendAlert = (): SpendAlertEvent => ({
  ...{ v: 1, id: 'a1.2026-11.500', alertId: 'alert_1', scope: 'project', account: 'acct0001', accountKind: 'project' },
  ...{ projectName: 'Search', window: '2026-11', unit: 'usd', threshold: 5, used: 5.25, subjectPrefix: '[AI]' },
  ...{ recipients: ['ann@example.org', 'bob@example.org'], passedAt: now() },
})

/** Every waiting delivery is due now. */
const hurry = () => database.query(`update metering.deliveries set due_at = now() where state = 'waiting'`)
const states = async () => {
  const { rows } = await database.query<{ state: string }>('select state from metering.deliveries order by id')
  return rows.map(({ state }) => state)
}

test('each kind of event arrives at the webhooks that want it, signed, with its facts', async () => {
  const other = running.use(await startReceiver(FORMER_SECRET))
  await startProcess([hook(), { url: other.url, secret: FORMER_SECRET, events: ['key.revoked'], allowPrivate: true }])
  await publishKey()
  await publishKey({ id: 'k1.revoked', change: 'revoked' })
  const threshold: AccountThreshold = {
    ...{ v: 1, id: 'acct0001.2026-11.80', account: 'acct0001', kind: 'project', issuer: null, subject: null },
    ...{ window: '2026-11', percent: 80, plan: 'pro', unit: 'tokens', used: 80, limit: 100 },
    passedAt: now(),
  }
  await publish(subjects.accountThreshold, threshold)
  await publish(subjects.accountThreshold, { ...threshold, id: 'a guest', kind: 'guest' })
  await publish(subjects.accountSpendAlert, spendAlert())
  await expect.poll(() => receiver.received.length).toBe(4)
  expect(receiver.received.map(({ type }) => type)).toEqual([
    ...['key.created', 'key.revoked', 'allowance.reached', 'spend_alert.reached'],
  ])
  expect(receiver.received[0]).toMatchObject({
    id: expect.stringMatching(/^msg_[A-Za-z0-9_-]{32}$/) as string,
    timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
    data: { key_id: 'k1', name: 'ci', project_id: 'proj_acct0001', project_name: 'Search', account_kind: 'project' },
  })
  expect(receiver.received[2]!.data).toMatchObject({
    percent: 80,
    used: 80,
    limit: 100,
    unit: 'tokens',
    month: '2026-11',
  })
  expect(receiver.received[3]!.data).toMatchObject({ threshold: 5, used: 5.25, unit: 'usd', alert_id: 'alert_1' })
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(4)
  await expect.poll(() => other.received.map(({ type }) => type)).toEqual(['key.revoked'])
  expect(receiver.refused).toEqual([])
})

test('a repeated event is delivered once, and an event that nobody can read holds up none', async () => {
  await startProcess([hook()])
  await publishKey()
  await publish(subjects.accountKey, { v: 1, nonsense: true })
  await publishKey()
  await publishKey({ id: 'k1.rotated', change: 'rotated' })
  await expect.poll(() => receiver.received.map(({ type }) => type)).toEqual(['key.created', 'key.rotated'])
})

test('a receiver that fails gets the event again under the same id, and its project waits while others go on', async () => {
  await startProcess([hook()])
  let isAway = true
  receiver.behave = (response, { data }) => {
    if (!isAway || data['project_id'] !== 'proj_acct0001') return undefined
    response.writeHead(503).end()
    return 'handled'
  }
  await publishKey()
  await publishKey({ id: 'k1.revoked', change: 'revoked' })
  await publishKey({ id: 'k2.created', account: 'acct0002' })
  await expect.poll(() => receiver.received.map(({ data }) => data['project_id'])).toEqual(['proj_acct0002'])
  await expect.poll(() => receiver.attempted.length).toBeGreaterThanOrEqual(2)
  await expect.poll(states).toEqual(['waiting', 'waiting', 'delivered'])
  isAway = false
  await hurry()
  await expect
    .poll(() => receiver.received.map(({ type }) => type))
    .toEqual([...['key.created', 'key.created', 'key.revoked']])
  const ofFirst = receiver.attempted.filter(
    ({ data, type }) => type === 'key.created' && data['project_id'] === 'proj_acct0001',
  )
  // A slow machine may have seen a further attempt.
  expect(ofFirst.length).toBeGreaterThanOrEqual(2)
  expect(new Set(ofFirst.map(({ id }) => id)).size).toBe(1)
})

test('however processes share the work and receivers fail, every webhook gets each project in order', async () => {
  await startProcess([hook({ id: 'a', url: `${receiver.url}/a` }), hook({ id: 'b', url: `${receiver.url}/b` })])
  await startProcess([hook({ id: 'a', url: `${receiver.url}/a` }), hook({ id: 'b', url: `${receiver.url}/b` })])
  let run = 0
  const failures = fc.array(fc.constantFrom('none', 'none', '500', 'drop'), { minLength: 12, maxLength: 12 })
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 4, maxLength: 12 }),
      failures,
      async (projects, faults) => {
        const prefix = `run${++run}`
        let attempts = 0
        receiver.behave = (response) => {
          const fault = faults[attempts++]
          if (fault === '500') response.writeHead(500).end()
          if (fault === 'drop') response.destroy()
          return fault === '500' || fault === 'drop' ? 'handled' : undefined
        }
        const events = projects.map((project, index) => ({
          account: `${prefix}-${project}`,
          keyId: `${prefix}-${index}`,
        }))
        for (const event of events) await publishKey({ ...event, id: event.keyId })
        const firsts = (path: string, account: string) => [
          ...new Set(
            receiver.received
              .filter((each) => each.path === path && each.data['project_id'] === `proj_${account}`)
              .map(({ data }) => data['key_id']),
          ),
        ]
        const accounts = [...new Set(events.map(({ account }) => account))]
        const got = () => ['/a', '/b'].map((path) => accounts.map((account) => firsts(path, account)))
        const wanted = accounts.map((account) =>
          events.filter((event) => event.account === account).map(({ keyId }) => keyId),
        )
        await expect
          .poll(async () => {
            // Claims lapse early, too, as after a kill.
            await hurry()
            return got()
          })
          .toEqual([wanted, wanted])
      },
    ),
    { numRuns: 8 },
  )
  const ids = new Map(receiver.attempted.map(({ data, id }) => [data['key_id'], id]))
  for (const { data, id } of receiver.attempted) expect(id).toBe(ids.get(data['key_id']))
})

test('a receiver that is gone gets nothing more until its config changes', async () => {
  const process = await startProcess([hook()])
  receiver.behave = (response) => {
    response.writeHead(410).end()
    return 'handled'
  }
  await publishKey()
  const disabled = async () => (await database.query('select channel from metering.disabled_webhooks')).rows
  await expect.poll(disabled).toEqual([{ channel: receiver.url }])
  await publishKey({ id: 'k2.created', account: 'acct0002' })
  await hurry()
  process.change(hook())
  await hurry()

  receiver.behave = () => undefined
  process.change(hook({ events: ['key.created', 'key.revoked'] }))
  await expect.poll(() => receiver.received.length).toBe(2)
  await expect.poll(states).toEqual(['delivered', 'delivered'])
  // The one that got the 410, and none until the change.
  expect(receiver.attempted).toHaveLength(3)
})

test('a day after its event a delivery is a dead letter, and the next of its project leaves', async () => {
  await startProcess([hook()])
  receiver.behave = (response, { type }) => {
    if (type === 'key.revoked') return undefined
    response.writeHead(500).end('broken')
    return 'handled'
  }
  await publishKey()
  await publishKey({ id: 'k1.revoked', change: 'revoked' })
  await expect.poll(() => receiver.attempted.length).toBeGreaterThanOrEqual(1)
  await database.query(`update metering.deliveries set since = now() - interval '1 day', due_at = now()`)
  await expect.poll(states).toEqual(['dead', 'delivered'])
  const { rows } = await database.query<{ attempts: number }>(
    `select fault, attempts from metering.deliveries where state = 'dead'`,
  )
  expect(rows).toMatchObject([{ fault: 'the receiver replied 500: broken' }])
  expect(rows[0]!.attempts).toBeGreaterThanOrEqual(2)
})

const call = async (process: Process, operation: string, input: Record<string, unknown> = {}) => {
  const webhooks = { current: () => process.webhooks(), sendsMail: false }
  return administer({ database, now: Date.now, webhooks }, { operation, input })
}

test('an operator finds dead letters, and sends one again under its id', async () => {
  const process = await startProcess([hook({ id: 'ops' })])
  let isBroken = true
  receiver.behave = (response) => {
    if (!isBroken) return undefined
    response.writeHead(500).end('broken')
    return 'handled'
  }
  for (const number of [1, 2, 3])
    await publishKey({ id: `k${number}`, keyId: `k${number}`, account: `acct000${number}` })
  const idOf = (keyId: string) => receiver.attempted.find(({ data }) => data['key_id'] === keyId)?.id
  await expect.poll(() => ['k1', 'k2', 'k3'].map(idOf)).not.toContain(undefined)
  await database.query(`update metering.deliveries set since = now() - interval '1 day', due_at = now()`)
  await expect.poll(states).toEqual(['dead', 'dead', 'dead'])

  const first = await call(process, 'webhooks.deadLetters', { limit: '2' })
  expect(first).toMatchObject({
    output: {
      data: [
        { webhook: 'ops', type: 'key.created', event_id: idOf('k3'), fault: 'the receiver replied 500: broken' },
        {},
      ],
      has_more: true,
    },
  })
  const page = (first as { output: { data: { id: string; event_id: string }[]; last_id: string } }).output
  const second = await call(process, 'webhooks.deadLetters', { after: page.last_id })
  expect(second).toMatchObject({ output: { data: [{ event_id: idOf('k1') }], has_more: false } })
  expect(await call(process, 'webhooks.list')).toMatchObject({
    output: { data: [{ id: 'ops', disabled_at: null, waiting: 0, dead_letters: 3 }] },
  })

  isBroken = false
  const again = { dead_letter_id: page.data[0]!.id }
  const check = async (operation: string, input: object) =>
    ((await call(process, 'changes.check', { for: operation, input })) as { output: { refusal: unknown } }).output
      .refusal
  expect(await check('webhooks.redeliver', again)).toBeNull()
  expect(await check('webhooks.enable', { webhook: 'ops' })).toBeNull()
  expect(await check('webhooks.enable', { webhook: 'other' })).toMatchObject({ code: 'NOT_FOUND' })
  expect(await check('exports.run', { export_id: 'other' })).toMatchObject({ code: 'NOT_FOUND' })
  expect(await states()).toEqual(['dead', 'dead', 'dead'])
  expect(await call(process, 'webhooks.redeliver', again)).toMatchObject({ kind: 'done' })
  await expect.poll(() => receiver.received.map(({ id }) => id)).toEqual([page.data[0]!.event_id])
  // A repeated call sends nothing more.
  expect(await call(process, 'webhooks.redeliver', again)).toMatchObject({ kind: 'done' })
  await expect.poll(async () => (await states()).toSorted()).toEqual(['dead', 'dead', 'delivered'])
  for (const id of ['dead_999', 'dead_0', 'other']) {
    expect(await call(process, 'webhooks.redeliver', { dead_letter_id: id })).toMatchObject({ code: 'NOT_FOUND' })
    expect(await check('webhooks.redeliver', { dead_letter_id: id })).toMatchObject({ code: 'NOT_FOUND' })
  }
})

test('an operator enables a webhook that was gone', async () => {
  const process = await startProcess([hook({ id: 'ops' })])
  receiver.behave = (response) => {
    response.writeHead(410).end()
    return 'handled'
  }
  await publishKey()
  const shown = () => call(process, 'webhooks.list')
  await expect
    .poll(shown)
    .toMatchObject({ output: { data: [{ disabled_at: expect.any(Number) as number, waiting: 1, dead_letters: 0 }] } })
  receiver.behave = () => undefined
  expect(await call(process, 'webhooks.enable', { webhook: 'ops' })).toMatchObject({ kind: 'done' })
  await expect.poll(() => receiver.received.length).toBe(1)
  await expect.poll(shown).toMatchObject({ output: { data: [{ disabled_at: null, waiting: 0 }] } })
  expect(await call(process, 'webhooks.enable', { webhook: 'other' })).toMatchObject({ code: 'NOT_FOUND' })
})

test('a backend that routers take out is one event, and its return another', async () => {
  const router = running.use(await openMemoryBus({ hub }))
  let state = 'healthy'
  const view = () => ({ backend: 'gpu-a', state, untilMs: null, control: null, outstanding: 0, places: 1, models: [] })
  const about = { configRevision: '1', draining: false, jobs: 0, waiting: 0, host: 'host' }
  running.use(
    await router.serve(subjects.routersShow, groups.router, async () => {
      const routers = [1, 2].map((pid) => ({ ...about, router: `r${pid}`, pid, backends: [view()] }))
      return Buffer.from(JSON.stringify({ routers, alive: 2 }))
    }),
  )
  await startProcess([hook({ events: ['backend.ejected', 'backend.restored'] })])
  await startProcess([hook({ events: ['backend.ejected', 'backend.restored'] })])
  for (const next of ['ejected', 'healthy', 'ejected']) {
    const before = receiver.received.length
    state = next
    await expect.poll(() => receiver.received.length).toBe(before + 1)
  }
  expect(receiver.received.map(({ type, data }) => `${type} ${String(data['backend'])}`)).toEqual([
    ...['backend.ejected gpu-a', 'backend.restored gpu-a', 'backend.ejected gpu-a'],
  ])
  expect(receiver.received[0]!.data['reasons']).toEqual([
    'the router host:1 has ejected it',
    'the router host:2 has ejected it',
  ])
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(3)
})

test('a refused config is an event, once for each text', async () => {
  const process = await startProcess([hook()])
  const refused = { text: 'pools: x', problems: [{ field: 'pools', message: 'expected array', line: 1 }] }
  process.refuse(refused)
  process.refuse(refused)
  process.refuse({ ...refused, text: 'pools: y' })
  await expect.poll(() => receiver.received.map(({ type }) => type)).toEqual(['config.refused', 'config.refused'])
  expect(receiver.received[0]!.data).toEqual({ problems: [{ field: 'pools', message: 'expected array', line: 1 }] })
})

test('a webhook that the config gains or loses takes effect at once', async () => {
  const process = await startProcess([])
  await publishKey()
  process.change(hook({ id: 'late' }))
  await publishKey({ id: 'k2.created' })
  await expect.poll(() => receiver.received.map(({ data }) => data['key_id'])).toEqual(['k1'])
  // A delivery that is under way when its webhook goes is kept.
  await expect.poll(states).toEqual(['delivered'])
  process.change()
  await publishKey({ id: 'k3.created' })
  await expect.poll(states).toEqual(['delivered'])
})

test('a new webhook gets the events from its configuration on, and none of the month before', async () => {
  const before = publishKey({ id: 'k0.created', keyId: 'k0', at: hoursAgo(240) })
  const process = await startProcess([hook({ id: 'first' })])
  await before
  await publishKey()
  await expect.poll(() => receiver.received.map(({ data }) => data['key_id'])).toEqual(['k1'])
  await process[Symbol.asyncDispose]()

  const meanwhile = publishKey({ id: 'k2.created', keyId: 'k2', at: hoursAgo(1) })
  const late = running.use(await startReceiver())
  await database.query(`update metering.channels set configured_at = now() - interval '1 day'`)
  await startProcess([hook({ id: 'first' }), hook({ id: 'late', url: late.url })])
  await meanwhile
  await publishKey({ id: 'k3.created', keyId: 'k3' })
  await expect.poll(() => receiver.received.map(({ data }) => data['key_id'])).toEqual(['k1', 'k2', 'k3'])
  await expect.poll(() => late.received.map(({ data }) => data['key_id'])).toEqual(['k3'])
})

test('a mail server that is new gets no alerts of the month before', async () => {
  const server = running.use(await startMailServer())
  const before = publish(subjects.accountSpendAlert, { ...spendAlert(), id: 'of old', passedAt: hoursAgo(240) })
  await startProcess([], server.url)
  await before
  await publish(subjects.accountSpendAlert, spendAlert())
  await expect.poll(() => server.mails.flatMap(({ to }) => to).toSorted()).toEqual(spendAlert().recipients)
  await expect.poll(states).toEqual(['delivered', 'delivered'])
})

test('a spend alert reaches its recipients by e-mail, each once, in readable text', async () => {
  const server = running.use(await startMailServer())
  await startProcess([], server.url)
  await publish(subjects.accountSpendAlert, spendAlert())
  await publish(subjects.accountSpendAlert, spendAlert())
  await publishKey()
  await expect.poll(() => server.mails.flatMap(({ to }) => to).toSorted()).toEqual(spendAlert().recipients)
  const [{ from, source } = { from: '', source: '' }] = server.mails
  expect(from).toBe('gateway@example.com')
  expect(source).toContain('Subject: [AI] The project Search has reached a spend alert: US$ 5.00 in')
  expect(source).toContain('Used when the alert was noticed: US$ 5.25.')
  expect(source).toMatch(/^Message-ID: <msg_[\w-]+@example\.com>\r$/m)
  await expect.poll(states).toEqual(['delivered', 'delivered'])
})

test('a password for the mail server never leaves in the clear', async () => {
  const server = running.use(await startMailServer())
  await startProcess([], server.url.replace('smtp://', 'smtp://gateway:secret@'))
  await publish(subjects.accountSpendAlert, { ...spendAlert(), recipients: ['ann@example.org'] })
  const faults = async () =>
    (await database.query<{ fault: string | null }>('select fault from metering.deliveries')).rows
  await expect.poll(faults).toEqual([{ fault: expect.stringContaining('STARTTLS') as string }])
  expect(server.passwords).toEqual([])
  expect(server.mails).toEqual([])
})

test('a name in a mail brings no header along', async () => {
  const server = running.use(await startMailServer())
  await startProcess([], server.url)
  const projectName = 'Search\r\nBcc: eve@example.org\r\n\r\nfree money'
  await publish(subjects.accountSpendAlert, { ...spendAlert(), recipients: ['ann@example.org'], projectName })
  await expect.poll(() => server.mails.length).toBe(1)
  const [head = ''] = server.mails[0]!.source.split('\r\n\r\n')
  expect(head).not.toMatch(/^Bcc:/m)
  expect(server.mails[0]!.to).toEqual(['ann@example.org'])
})

test('a mail server that is away gets the mail later; one that knows no such person ends it', async () => {
  const server = running.use(await startMailServer())
  await startProcess([], server.url)
  const codes: Record<string, number | null> = { 'ann@example.org': 451, 'bob@example.org': 550 }
  server.refusal = (recipient) => codes[recipient] ?? null
  await publish(subjects.accountSpendAlert, spendAlert())
  await expect.poll(async () => (await states()).toSorted()).toEqual(['dead', 'waiting'])
  codes['ann@example.org'] = null
  // The first attempt may still be under way.
  await expect
    .poll(async () => {
      await database.query(
        `update metering.deliveries set due_at = now() where state = 'waiting' and fault is not null`,
      )
      return server.mails.map(({ to }) => to)
    })
    .toEqual([['ann@example.org']])
})
