/**
 * `npm run ctl`, as an operator uses it: the same commands on a cluster and on the gateway in one process.
 */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseKey } from '@gateway/contracts/api-key'
import { openDatabase } from '@gateway/postgres/database'
import { startCluster } from '@gateway/cluster/start'
import { runCtl, type Said } from './promises/run-ctl.ts'
import { startStandalone } from './promises/standalone.ts'

/** The time that a request may take to appear. */
const SOON = { timeout: 60_000 }

interface Started {
  edge: string
  databaseUrl: string
}

interface Place extends Started {
  dataDir: string
}

describe.each<{
  name: string
  start(stack: AsyncDisposableStack, dataDir: string): Promise<Started>
}>([
  {
    name: 'a cluster',
    async start(stack, dataDir) {
      const cluster = stack.use(await startCluster({ edges: 1, routers: 1, dataDir, ownServers: true }))
      return { edge: cluster.edges[0]!, databaseUrl: cluster.servers.postgres.url }
    },
  },
  {
    name: 'the gateway in one process',
    async start(stack, dataDir) {
      const { url } = stack.use(await startStandalone({ environment: { DATA_DIR: dataDir } }))
      return { edge: url, databaseUrl: await embeddedDatabaseUrl(dataDir) }
    },
  },
])('on $name', ({ start }) => {
  const stack = new AsyncDisposableStack()
  let place: Place
  let key: string
  let tag: string
  beforeAll(async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'gateway-ctl-'))
    stack.defer(() => rm(dataDir, { recursive: true, force: true }))
    place = { dataDir, ...(await start(stack, dataDir)) }
    key = await mint(place.edge, 'a-laptop')
    tag = parseKey(key)!.accountTag
  })
  afterAll(() => stack.disposeAsync())

  const ctl = (...args: string[]) => run(place.dataDir, ...args)

  test('an account is shown, put on another plan, allowed overage, and topped up once for each id', async () => {
    expect(await ctl('accounts', 'show', tag)).toMatchObject({ code: 0, out: expect.stringContaining('guest-device') })
    const changed = await ctl('accounts', 'set-plan', tag, 'pro')
    expect(changed).toMatchObject({ code: 0, out: expect.stringMatching(/plan +pro\n/) })
    expect((await ctl('accounts', 'set-overage', tag, 'on')).out).toMatch(/overage +on\n/)
    const id = crypto.randomUUID()
    for (let time = 0; time < 2; time++) {
      expect((await ctl('accounts', 'top-up', tag, '2500.5', '--id', id)).out).toMatch(/top-ups +2500.5 tokens/)
    }
    // A model that guests do not have: the very next request knows the new plan.
    expect(await sendRequest(place.edge, key, 'svc-core')).toBe(200)
  })

  test('an impossible command is explained in words, with exit code 1', async () => {
    expect(await ctl('accounts', 'show', 'nobody')).toMatchObject({ code: 1, err: 'there is no such account\n' })
    const noPlan = await ctl('accounts', 'set-plan', tag, 'gold')
    expect(noPlan).toMatchObject({ code: 1, err: expect.stringMatching(/there are: .*free/) })
    expect(await ctl('accounts', 'top-up', tag, '-5')).toMatchObject({ code: 1 })
    expect(await ctl('keys', 'revoke', 'nosuchid')).toMatchObject({ code: 1, err: 'there is no such key\n' })
  })

  test('usage is listed for one account by day and by model, and for all of them', async () => {
    for (let turn = 0; turn < 2; turn++) expect(await sendRequest(place.edge, key)).toBe(200)
    const today = new Date().toISOString().slice(0, 10)
    const facts = async (...args: string[]) => JSON.parse((await ctl('usage', '--json', ...args)).out)
    await expect.poll(async () => (await facts('--account', tag)).totals.requests, SOON).toBeGreaterThan(1)
    const { totals } = await facts('--account', tag)
    expect(await facts('--account', tag, '--by', 'model')).toMatchObject({ account: tag, group_by: 'model', totals })
    expect(await facts('--account', tag, '--by', 'session')).toMatchObject({ group_by: 'session', data: [] })
    expect(await facts()).toMatchObject({ accounts: 1, data: [{ account: tag, subject: null, ...totals }], totals })
    const table = (await ctl('usage', '--account', tag, '--from', today)).out
    expect(table).toMatch(new RegExp(`${today} to ${today}\nday +requests .*US dollars\n${today} .*\ntotal `))
    expect(await ctl('usage', '--from', '2026-02-30')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^--from: /),
    })
    expect(await ctl('usage', '--account', 'nobody')).toMatchObject({ code: 1, err: 'there is no such account\n' })
  })

  test('backends are listed with their health, until when, and their calls under way, by router', async () => {
    const { out } = await ctl('backends', '--json')
    const { routers, alive } = JSON.parse(out)
    expect(alive).toBe(routers.length)
    const [{ backends, ...router }] = routers
    expect(router).toMatchObject({ pid: expect.any(Number), draining: false, configRevision: expect.any(String) })
    expect(backends).toContainEqual({
      backend: 'simulated-a',
      control: null,
      state: 'healthy',
      untilMs: null,
      outstanding: 0,
      places: expect.any(Number),
      models: [],
    })
    expect((await ctl('backends')).out).toMatch(/^backend +router +health .*\nsimulated-a +\S+:\d+ +healthy +0 /)
  })

  test('under load the admission store agrees with the ledger and the keys', async () => {
    const over = new AbortController()
    const clients = Array.from({ length: 4 }, async () => {
      for (; !over.signal.aborted; await sleep(50)) expect(await sendRequest(place.edge, key)).toBe(200)
    })
    const report = await ctl('reconcile')
    over.abort()
    await Promise.all(clients)
    expect(report).toMatchObject({ code: 0, out: expect.stringMatching(/^1 accounts: .* agrees/) })
    const { out } = await ctl('reconcile', '--repair', '--json')
    expect(JSON.parse(out)).toEqual({ accounts: 1, drifts: [], unrepaired: 0 })
  })

  test('where it does not, the command reports it, exits with 2, and repairs it on request', async () => {
    const dead = await mint(place.edge, 'a-phone')
    const { accountTag: deadTag, keyId } = parseKey(dead)!
    expect(await sendRequest(place.edge, dead)).toBe(200)
    await using database = await openDatabase(place.databaseUrl)
    await database.query(`update keys.keys set status = 'deactivated', deactivated_at = now() where key_id = $1`, [
      keyId,
    ])
    await database.query('update keys.accounts set overage = not overage where tag = $1', [tag])
    // The edge gathers reports of the load before for up to a second. A later report would give the store the raised
    // total.
    const versionOf = async () =>
      (await database.query<{ version: number }>('select version from metering.windows where account = $1', [tag]))
        .rows[0]?.version
    let version = await versionOf()
    for (let seen: number | undefined; seen !== version; version = await versionOf()) {
      seen = version
      await sleep(1_200)
    }
    const raiseTotal =
      'update metering.windows set milli_tokens = milli_tokens + 7, version = version + 1 where account = $1'
    await database.query(raiseTotal, [tag])
    expect(await sendRequest(place.edge, dead)).toBe(200)

    const { code, out } = await ctl('reconcile')
    expect(code).toBe(2)
    for (const found of [
      `${deadTag} +key +${keyId} is active +${keyId} is deactivated`,
      `${tag} +account`,
      `${tag} +total`,
    ]) {
      expect(out).toMatch(new RegExp(`^${found} .* no$`, 'm'))
    }
    expect(out).toContain('2 accounts, 3 differences, 3 of them not repaired')
    expect(await ctl('reconcile', '--repair')).toMatchObject({ code: 0, out: expect.stringContaining('0 of them not') })
    expect(await ctl('reconcile')).toMatchObject({ code: 0, out: expect.stringContaining('agrees') })
    expect(await sendRequest(place.edge, dead)).toBe(401)
  })

  test('every command has facts for scripts', async () => {
    const { out } = await ctl('accounts', 'show', tag, '--json')
    expect(JSON.parse(out)).toMatchObject({ account: tag, kind: 'guest', keys: [{ status: 'active' }] })
    expect(JSON.parse((await ctl('--json', 'keys', 'reseal')).out)).toEqual({ sealedAnew: 0 })
  })

  test('keys are sealed again, and a revoked one is refused at once', async () => {
    expect(await ctl('keys', 'reseal')).toMatchObject({ code: 0, out: expect.stringContaining('0 keys sealed again') })
    expect(await sendRequest(place.edge, key)).toBe(200)
    const revoked = await ctl('keys', 'revoke', parseKey(key)!.keyId)
    expect(revoked).toMatchObject({ code: 0, out: expect.stringContaining(tag) })
    expect(await sendRequest(place.edge, key)).toBe(401)
  })

  test('a project is created, listed and archived', async () => {
    const created = await ctl('projects', 'create', 'Search', '--plan', 'pro', '--json')
    const project = JSON.parse(created.out) as { id: string }
    expect(project).toMatchObject({ name: 'Search', plan: 'pro', status: 'active', personal: false })
    const listed = async (...args: string[]) => (await ctl('projects', 'list', ...args)).out
    expect(await listed()).toContain(`${project.id}  Search`)
    expect((await ctl('projects', 'archive', project.id)).out).toContain('no edge admits a key of it')
    expect(await listed()).not.toContain(project.id)
    expect(await listed('--archived')).toMatch(new RegExp(`${project.id}.* archived`))
    expect(await ctl('projects', 'archive', 'proj_unknown0')).toMatchObject({
      code: 1,
      err: 'There is no project proj_unknown0\n',
    })
  })

  test('the first admin key is made here, and then commands work over HTTP until it is revoked', async () => {
    const { value, id } = JSON.parse((await ctl('admin-keys', 'create', 'terraform', '--json')).out) as {
      value: string
      id: string
    }
    const overHttp = (...args: string[]) => ctl('--url', place.edge, '--admin-key', value, ...args)
    expect((await overHttp('projects', 'create', 'Maps')).out).toMatch(/^the project proj_/)
    expect((await overHttp('projects', 'list')).out).toBe((await ctl('projects', 'list')).out)
    expect((await overHttp('admin-keys', 'list')).out).toContain(`${id}  terraform`)
    expect(await overHttp('audit', 'verify')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^[1-9]\d* rows are as the gateway wrote them/),
    })
    expect((await overHttp('admin-keys', 'revoke', id)).out).toContain('opens nothing any more')
    expect(await overHttp('projects', 'list')).toMatchObject({ code: 1, err: 'Invalid key\n' })
  })

  test('over HTTP every command needs a live admin key', async () => {
    const { err } = await ctl('--url', place.edge, 'projects', 'list')
    expect(err).toContain('GATEWAY_ADMIN_KEY')
    const forged = await ctl('--url', place.edge, '--admin-key', 'svc_admin_no', 'projects', 'list')
    expect(forged).toMatchObject({ code: 1, err: expect.stringMatching(/key/i) })
    const usage = await ctl('--url', place.edge, '--admin-key', 'svc_admin_no', 'usage')
    expect(usage).toMatchObject({ code: 1, out: '', err: 'Invalid key\n' })
  })
})

describe('config check needs no gateway', () => {
  const example = (name: string) => resolve(import.meta.dirname, `../deploy/config/examples/${name}.yaml`)
  const check = (...args: string[]) => run('nowhere', 'config', 'check', ...args)

  test('a file that can be used', async () => {
    expect(await check(example('ollama'))).toMatchObject({
      code: 0,
      out: expect.stringContaining('can be used: 0 errors'),
    })
    expect(await check(example('vllm'), '--no-secrets')).toMatchObject({ code: 0 })
  })

  test('mistakes, each with its line and field, and exit code 2', async () => {
    const line = (await readFile(example('vllm'), 'utf8')).split('apiKey:')[0]!.split('\n').length
    const { code, out } = await check(example('vllm'))
    expect(code).toBe(2)
    expect(out).toMatch(
      new RegExp(`error +${line}:5 +backends\\[0\\]\\.apiKey +the environment variable VLLM_API_KEY is not set`),
    )
    const facts = JSON.parse((await check(example('vllm'), '--json')).out)
    expect(facts).toMatchObject({
      usable: false,
      problems: expect.arrayContaining([expect.objectContaining({ line })]),
    })
  })

  test('warnings count where they are said to', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'gateway-ctl-'))
    const file = join(directory, 'gateway.yaml')
    const backend = (id: string) => ({ id, url: 'http://127.0.0.1:8000/v1', dialect: 'openai' })
    const pools = [{ id: 'spark', targets: [{ backend: 'used', model: 'm' }] }]
    await writeFile(file, JSON.stringify({ backends: [backend('used'), backend('left-out')], pools }))
    expect(await check(file)).toMatchObject({ code: 0, out: expect.stringContaining('"left-out" is never called') })
    expect(await check(file, '--strict')).toMatchObject({ code: 2 })
    await rm(directory, { recursive: true })
  })
})

test('where no gateway runs, it says so', async () => {
  const nowhere = await run(join(tmpdir(), 'no-gateway-here'), 'keys', 'reseal')
  expect(nowhere).toMatchObject({ code: 1, err: expect.stringContaining('DATA_DIR') })
})

/** Returns the address as a reader of the data folder finds it. */
async function embeddedDatabaseUrl(dataDir: string): Promise<string> {
  const read = (name: string) => readFile(join(dataDir, 'postgres', name), 'utf8')
  const port = (await read('data/postmaster.pid')).split('\n')[3]
  return `postgres://gateway:${await read('password')}@127.0.0.1:${port}/postgres`
}

async function mint(edge: string, deviceId: string): Promise<string> {
  const minted = await fetch(`${edge}/v1/keys/guest`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ device_id: deviceId }),
  })
  return ((await minted.json()) as { key: string }).key
}

async function sendRequest(edge: string, key: string, model = 'svc-instant'): Promise<number> {
  const response = await fetch(`${edge}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello!' }], max_tokens: 5 }),
  })
  await response.arrayBuffer()
  return response.status
}

function run(dataDir: string, ...args: string[]): Promise<Said> {
  return runCtl(args, { DATA_DIR: dataDir })
}
