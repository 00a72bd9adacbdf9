/**
 * The processes of a gateway show its events at `/metrics`. `npm test -- tests/metrics.test.ts -u` writes the table of
 * metrics.
 */

import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Cluster, startCluster } from '@gateway/cluster/start'
import { OBSERVABILITY_FOLDER, readPanelExpressions, readRules } from '@gateway/testing/observability-files'
import { readExpression } from '@gateway/testing/promql'
import { type Scrape, scrape, scrapeCluster, sumOf } from '@gateway/cluster/scrape'
import { freePort } from '@gateway/embedded-postgres/free-port'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import {
  userMessages,
  type Caller,
  callerWith,
  configFor,
  type Gateway,
  manageKeys,
  newDeveloper,
  newGuest,
  newLane,
  send,
  startBackends,
} from './promises/gateway.ts'
import { startStandalone } from './promises/standalone.ts'
import { type Receiver, SECRET, startReceiver } from '../services/metering/test/webhook-receiver.ts'

const stack = new AsyncDisposableStack()
let cluster: Cluster
let gateway: Gateway
let developer: Caller & { token: string }
let before: Scrape
let receiver: Receiver

beforeAll(async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'gateway-metrics-'))
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  const backends = await startBackends(stack)
  const config = join(dataDir, 'gateway.yaml')
  receiver = stack.use(await startReceiver())
  const webhooks = [{ url: receiver.url, secret: SECRET, events: ['key.revoked'], allowPrivate: true }]
  const exports = [{ id: 'files', to: pathToFileURL(join(dataDir, 'exports')).href, format: 'ndjson' }]
  const narrow = withNarrowBackends(configFor(backends, { requestsPerMinute: 1_000 }))
  await writeFile(config, JSON.stringify({ ...narrow, webhooks, exports }))
  const environment = { GATEWAY_CONFIG: config, TRUST_PROXY: 'loopback', LOG_LEVEL: 'warn' }
  cluster = stack.use(await startCluster({ edges: 1, routers: 1, dataDir, ownServers: true, environment }))
  gateway = { urls: [cluster.edges[0]!], issuer: cluster.issuer, backends }
  developer = await newDeveloper(gateway)
})
afterAll(() => stack.disposeAsync())

/** Backends that can be broken take one request at a time. */
function withNarrowBackends(config: { backends?: { id: string }[] }): object {
  const narrow = (backend: { id: string }) =>
    backend.id.startsWith('frail') ? { ...backend, maxConcurrent: 1 } : backend
  return { ...config, backends: config.backends?.map(narrow) }
}

const CHAT = '/v1/chat/completions'
const post = (caller: { key: string }, body: object) => send(gateway.urls[0], CHAT, { key: caller.key, body })
const soon = { timeout: 60_000, interval: 100 }
/** The metric's label keeps its name, which dashboards know. */
const DECISION = 'answer'

/** Returns the amount that was added to a metric since the test began. */
async function added(name: string, labels: Record<string, string> = {}): Promise<number> {
  return sumOf(await scrapeCluster(cluster), name, labels) - sumOf(before, name, labels)
}

async function during(action: () => Promise<unknown>): Promise<void> {
  before = await scrapeCluster(cluster)
  await action()
}

describe('an operator sees', () => {
  // First, while nothing else is on its way.
  test('usage on its way: acknowledged by JetStream, recorded by metering, nothing left behind', async () => {
    await during(() => post(developer, { model: 'svc-core', messages: userMessages('Say: hi') }))
    expect(await added('gateway_bus_acknowledge_seconds_count', { service: 'edge' })).toBe(1)
    await expect.poll(() => added('gateway_metering_reports_total', { outcome: 'recorded' }), soon).toBe(1)
    expect(await added('gateway_metering_lag_seconds_count')).toBe(1)
    await expect.poll(() => added('gateway_project_requests', { project: 'other' }), soon).toBe(1)
    const now = await scrapeCluster(cluster)
    expect(sumOf(now, 'gateway_bus_durable_pending')).toBe(0)
    expect(sumOf(now, 'gateway_bus_durable_backlog')).toBe(0)
    expect(sumOf(now, 'gateway_bus_durable_healthy', { service: 'edge' })).toBe(1)
  })

  test('which lanes Auto chooses, and whether its choice counted', async () => {
    await during(() => post(developer, { model: 'svc-best', messages: userMessages('Say: hi') }))
    await expect.poll(() => added('gateway_auto_choices_total', { acted: 'yes' }), soon).toBe(1)
    expect(await added('gateway_auto_choices_total', { acted: 'no' })).toBe(0)
  })

  test('requests by endpoint, model and outcome, their tokens, and the time that the gateway added', async () => {
    const messages = userMessages('Say: one two three')
    let prompt = 0
    let completion = 0
    await during(async () => {
      for (let turn = 0; turn < 3; turn++) {
        const { body } = await post(developer, { model: 'svc-core', messages })
        const usage = body['usage'] as { prompt_tokens: number; completion_tokens: number }
        prompt += usage.prompt_tokens
        completion += usage.completion_tokens
      }
      await post(developer, { model: 'svc-core' })
      await post(developer, { model: 'no-such-model', messages })
    })
    const served = { endpoint: CHAT, model: 'svc-core', outcome: 'ok' }
    await expect.poll(() => added('gateway_requests_total', served), soon).toBe(3)
    expect(await added('gateway_requests_total', { outcome: 'VALIDATION_ERROR' })).toBe(1)
    expect(await added('gateway_requests_total', { outcome: 'MODEL_NOT_FOUND', model: '' })).toBe(1)
    expect(await added('gateway_tokens_total', { model: 'svc-core', kind: 'prompt' })).toBe(prompt)
    expect(await added('gateway_tokens_total', { model: 'svc-core', kind: 'completion' })).toBe(completion)
    expect(await added('gateway_added_seconds_count', { endpoint: CHAT })).toBe(3)
    expect(await added('gateway_added_seconds_sum', { endpoint: CHAT })).toBeGreaterThan(0)
  })

  test('streams under way, their first token and the lag of their parts', async () => {
    const { steadyA } = gateway.backends
    steadyA.setSpeed({ tokensPerSecond: 5, firstByteDelayMs: 1_000 })
    await during(async () => {
      const messages = userMessages('Say: a b c d e f g h i j k l m n o p q r s t')
      const stream = await developer.client.chat.completions.create({ model: 'svc-core', messages, stream: true })
      let seen = 0
      for await (const _chunk of stream) if (seen++ === 0) expect(await added('gateway_streams_in_flight')).toBe(2)
    })
    steadyA.setSpeed({ tokensPerSecond: 0, firstByteDelayMs: 0 })
    await expect.poll(() => added('gateway_streams_in_flight'), soon).toBe(0)
    expect(await added('gateway_time_to_first_token_seconds_count', { model: 'svc-core' })).toBe(1)
    expect(await added('gateway_time_to_first_token_seconds_sum')).toBeGreaterThan(1)
    // The backend's own time is not the gateway's.
    expect(await added('gateway_added_seconds_sum', { endpoint: CHAT })).toBeLessThan(2.5)
    expect(await added('gateway_router_chunk_lag_seconds_count')).toBeGreaterThan(10)
    expect(await added('gateway_bus_round_trip_seconds_count')).toBeGreaterThan(0)
  })

  test('the open WebSockets of clients', async () => {
    const socket = new WebSocket(`${gateway.urls[0].replace('http', 'ws')}/v1/responses`, {
      headers: { authorization: `Bearer ${developer.key}` },
    })
    // A first look at the figures takes longer than a socket needs to open.
    const opened = once(socket, 'open')
    await during(() => opened)
    expect(sumOf(await scrapeCluster(cluster), 'gateway_websockets')).toBe(1)
    socket.close()
    await expect.poll(async () => sumOf(await scrapeCluster(cluster), 'gateway_websockets'), soon).toBe(0)
  })

  test('a failover, and the backend that was taken out', async () => {
    const lane = newLane(gateway)
    gateway.backends.frail.fail({ backend: lane.first, status: 401 })
    // Its probes fail, too: however late the figures are read, it has not come back.
    gateway.backends.frail.fail({ backend: lane.first, endpoint: 'models', status: 503 })
    await during(() => post(developer, { model: lane.model, messages: userMessages('Say: hi') }))
    expect(await added('gateway_router_failovers_total', { pool: lane.model, backend: lane.first })).toBe(1)
    expect(await added('gateway_router_attempts_total', { backend: lane.first, outcome: 'http_401' })).toBe(1)
    expect(await added('gateway_router_ejections_total', { backend: lane.first })).toBeGreaterThanOrEqual(1)
    await expect.poll(() => added('gateway_router_targets_usable', { pool: lane.model }), soon).toBe(-1)
  })

  test('a backend that demands a pause, and requests that wait for a slot', async () => {
    const lane = newLane(gateway)
    const { frail } = gateway.backends
    frail.fail({ backend: lane.first, status: 429, retryAfter: 60, times: 1 })
    frail.fail({ backend: lane.second, firstByteDelayMs: 500 })
    await during(() =>
      Promise.all([1, 2, 3].map(() => post(developer, { model: lane.model, messages: userMessages('Say: hi') }))),
    )
    expect(await added('gateway_router_coolings_total', { backend: lane.first })).toBe(1)
    expect(await added('gateway_router_wait_seconds_count', { pool: lane.model })).toBeGreaterThan(0)
  })

  test('the decisions of admission, by limit', async () => {
    const guest = await newGuest(gateway)
    await during(async () => {
      for (let turn = 0; turn < 7; turn++)
        await post(guest, { model: 'svc-instant', messages: userMessages('Say: hi') })
      await post(guest, { model: 'svc-max', messages: userMessages('Say: hi') })
    })
    const replies = (reply: string, limit = '') =>
      added('gateway_admission_answers_total', { [DECISION]: reply, limit })
    expect(await replies('allow')).toBe(6)
    expect(await replies('deny', 'day')).toBe(1)
    expect(await replies('deny', 'plan')).toBe(1)
    expect(await added('gateway_requests_total', { outcome: 'rate_limit_exceeded' })).toBe(2)
    expect(await added('gateway_admission_seconds_count')).toBeGreaterThanOrEqual(8)
  })

  test('changes of keys that are not yet known everywhere', async () => {
    await during(() => manageKeys(gateway, developer.token, 'POST', '/rotate', { key: developer.key }))
    // Keys looks every five seconds, and a look may have met the change on its way.
    const depth = async () => sumOf(await scrapeCluster(cluster), 'gateway_keys_outbox_depth')
    await expect.poll(depth, { interval: 250 }).toBe(0)
    expect(await added('gateway_bus_request_seconds_count', { service: 'keys', subject: 'keys.rotate' })).toBe(1)
  })

  test('deliveries of webhooks, and that none waits', async () => {
    // The rotation above ended a key.
    const delivered = async () => {
      const now = await scrapeCluster(cluster)
      return sumOf(now, 'gateway_webhook_attempts_total', { channel: 'webhook', outcome: 'delivered' })
    }
    await expect.poll(delivered, soon).toBe(1)
    expect(receiver.received.map(({ type }) => type)).toEqual(['key.revoked'])
    expect(sumOf(await scrapeCluster(cluster), 'gateway_webhook_oldest_waiting_seconds')).toBeLessThan(60)
  })
})

test('an operator sees that no export is behind', async () => {
  const page = async () =>
    (await scrapeCluster(cluster)).samples.filter(({ name }) => name === 'gateway_export_behind_seconds')
  await expect.poll(page, soon).toMatchObject([{ labels: { export: 'files' }, value: 0 }])
})

test('no series names an account, a key, a prompt or a value that a client made up', async () => {
  const guest = await newGuest(gateway)
  await send(gateway.urls[0], `/v1/models/made-up-model`, { key: guest.key })
  await send(gateway.urls[0], '/made-up-path', { key: guest.key })
  await post(guest, { model: 'made-up-model', messages: userMessages('Say: hi') })
  const { samples } = await scrapeCluster(cluster)
  const values = new Set(samples.flatMap(({ labels }) => Object.values(labels)))
  expect([...values].filter((value) => value.includes('made-up') || value.includes('svc_'))).toEqual([])
  const names = new Set(samples.flatMap(({ labels }) => Object.keys(labels)))
  expect([...names].filter((name) => /account|key|request_?id|user|path/.test(name))).toEqual([])
})

test('every process shows its build and its use of resources', async () => {
  const { samples } = await scrapeCluster(cluster)
  for (const service of ['edge', 'router', 'keys', 'metering']) {
    const own = samples.filter(({ labels }) => labels['service'] === service).map(({ name }) => name)
    expect(own).toEqual(
      expect.arrayContaining([
        'gateway_build_info',
        'process_cpu_seconds_total',
        'process_resident_memory_bytes',
        'nodejs_eventloop_lag_p99_seconds',
      ]),
    )
  }
})

test('npm start exports the same, all services on one page', async () => {
  const healthPort = String(await freePort())
  await using standalone = await startStandalone({ environment: { HEALTH_PORT: healthPort } })
  const guest = await newGuest({ urls: [standalone.url], issuer: standalone.issuer })
  await callerWith({ urls: [standalone.url], issuer: standalone.issuer }, guest.key).client.chat.completions.create({
    model: 'svc-instant',
    messages: userMessages('Say: hi'),
  })
  const own = await scrape(`http://127.0.0.1:${healthPort}`)
  const { types } = await scrapeCluster(cluster)
  expect([...own.types.keys()].toSorted()).toEqual([...types.keys()].toSorted())
  expect(sumOf(own, 'gateway_requests_total', { service: 'edge', outcome: 'ok', model: 'svc-instant' })).toBe(1)
  expect(sumOf(own, 'gateway_metering_reports_total', { service: 'metering', outcome: 'recorded' })).toBe(1)
  expect(sumOf(own, 'gateway_router_jobs_total', { service: 'router', outcome: 'served' })).toBe(1)
})

describe('the folder that is shipped to watch a gateway with', () => {
  /** By metric as PromQL names it. */
  async function exported(): Promise<Map<string, Set<string>>> {
    const { samples } = await scrapeCluster(cluster)
    const byName = Map.groupBy(samples, ({ name }) => name)
    return new Map(Array.from(byName, ([name, of]) => [name, new Set(of.flatMap(({ labels }) => Object.keys(labels)))]))
  }

  test('lists every metric that is exported, and no other', async () => {
    const { types, helps, samples } = await scrapeCluster(cluster)
    const labelsOf = (name: string) => {
      const of = samples.find((sample) => sample.name === name || sample.name === `${name}_count`)
      return Object.keys(of?.labels ?? { none: '' }).filter((label) => label !== 'service')
    }
    const rows = Array.from(types, ([name, type]) => {
      return `| \`${name}\` | ${type} | ${labelsOf(name).join(', ')} | ${helps.get(name)} |\n`
    })
    const page = join(OBSERVABILITY_FOLDER, 'README.md')
    const table = /(?<=<!-- metrics: [^\n]*\n)[^]*(?=<!-- \/metrics -->)/
    const head = '| Metric | Type | Labels | Meaning |\n| --- | --- | --- | --- |\n'
    const readme = await readFile(page, 'utf8')
    expect(readme).toMatch(table)
    const written = readme.replace(table, () => `${head}${rows.toSorted().join('')}`)
    await expect(written).toMatchFileSnapshot(page)
  })

  test('uses only metrics and labels that exist', async () => {
    const rules = await readRules()
    const recorded = new Set(rules.flatMap(({ record }) => record ?? []))
    const known = await exported()
    const fromPrometheus = new Set(['job', 'instance', 'gateway'])
    const faults: string[] = []
    const places = [
      ...rules.map(({ alert, record, expr }) => ({ place: alert ?? record!, expr })),
      ...(await readPanelExpressions()),
    ]
    for (const { place, expr } of places) {
      for (const { metric, labels } of readExpression(expr)) {
        if (metric === 'up' || recorded.has(metric)) continue
        const own = known.get(metric)
        if (!own) faults.push(`${place}: no metric ${metric}`)
        for (const label of labels) {
          if (own && !own.has(label) && !fromPrometheus.has(label)) faults.push(`${place}: ${metric} has no ${label}`)
        }
      }
    }
    expect(faults).toEqual([])
    expect(places.length).toBeGreaterThan(90)
  })

  test('looks for values that occur', async () => {
    const { samples } = await scrapeCluster(cluster)
    const occurs = (metric: string, label: string, value: string) =>
      samples.some(({ name, labels }) => name === metric && labels[label] === value)
    const expressions = [...(await readRules()), ...(await readPanelExpressions())]
    const missing = expressions
      .flatMap(({ expr }) => readExpression(expr))
      .flatMap(({ metric, equals }) => equals.map(([label, value]) => ({ metric, label, value })))
      // Faults that did not happen here.
      .filter(({ metric, label, value }) => label !== 'outcome' && !occurs(metric, label, value))
    expect(missing).toEqual([])
  })
})
