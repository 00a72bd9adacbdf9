import type { KeysAdmission, ProjectFacts } from '@gateway/admission/port'
import { projectPolicy } from '@gateway/contracts/administration/policy'
import { groups, subjects } from '@gateway/contracts/subjects'
import { startPostgres, type PostgresServer } from '@gateway/servers/start'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { openKeysService, personCall, type TestKeys } from '../../test/keys-service.ts'
import { call, refusalOf, replyTo } from '../../test/projects.ts'
import { setPlan } from './bus-commands.ts'
import { mintKey } from '../handlers/developer-keys.ts'

type Fill = Parameters<KeysAdmission['fill']>[0]

let postgres: PostgresServer
let keys: TestKeys
let project_id: string
/** Everything that the admission store was given. */
let fills: Fill[]
beforeAll(async () => void (postgres = await startPostgres()))
afterAll(() => postgres[Symbol.asyncDispose]())
beforeEach(async () => {
  keys = await openKeysService(postgres)
  fills = []
  const { fill } = keys.admission
  keys.admission.fill = async (account) => {
    fills.push(account)
    await fill(account)
  }
  project_id = await create('free')
})
afterEach(() => keys[Symbol.asyncDispose]())

const create = async (plan: string) => (await call(keys, 'projects.create', { name: 'search', plan })).id
const planOf = (slug: string) => keys.config.current.plans.find((plan) => plan.slug === slug)!
const filled = (): ProjectFacts => fills.at(-1)!.project!
const policyOf = ({ policy }: ProjectFacts) => projectPolicy.parse(JSON.parse(policy))
const servedIds = () =>
  keys.config.current.models
    .filter(({ type }) => type !== 'auto')
    .map(({ id }) => id)
    .toSorted()

async function readAll(id = project_id) {
  const rows = []
  let after: string | undefined
  for (;;) {
    const page = await call(keys, 'rateLimits.list', { project_id: id, limit: 7, after })
    rows.push(...page.data)
    if (!page.has_more) return rows
    after = page.last_id!
  }
}

test('each served model has a rate limit, which is the plan’s until the project has its own', async () => {
  const { rpm, tpm } = planOf('free')
  const rows = await readAll()
  expect(rows.map(({ model }) => model)).toEqual(servedIds())
  for (const row of rows) {
    const rates = { max_requests_per_1_minute: rpm, max_tokens_per_1_minute: tpm }
    expect(row).toEqual({ id: `rl_${row.model}`, object: 'project.rate_limit', model: row.model, ...rates })
  }
})

test('a changed rate limit is in the list, and in the admission store when the response arrives', async () => {
  const id = `rl_${servedIds()[0]!}`
  const input = { project_id, rate_limit_id: id, max_requests_per_1_minute: 7, max_requests_per_1_day: 100 }
  const limit = await call(keys, 'rateLimits.update', input)
  expect(limit).toMatchObject({ id, max_requests_per_1_minute: 7, max_tokens_per_1_minute: planOf('free').tpm })
  expect(filled().modelLimits).toEqual([
    { model: servedIds()[0], requestsPerMinute: 7, tokensPerMinute: null, requestsPerDay: 100 },
  ])
  expect((await readAll()).find((row) => row.id === id)).toEqual(limit)

  await call(keys, 'rateLimits.update', { project_id, rate_limit_id: id, max_tokens_per_1_minute: 500 })
  expect(filled().modelLimits).toMatchObject([{ requestsPerMinute: 7, tokensPerMinute: 500, requestsPerDay: 100 }])
  const without = { max_requests_per_1_minute: null, max_tokens_per_1_minute: null, max_requests_per_1_day: null }
  await call(keys, 'rateLimits.update', { project_id, rate_limit_id: id, ...without })
  expect(filled().modelLimits).toEqual([])
})

test.each([
  ['a limit of batches', { batch_1_day_max_input_tokens: 5 }, 'VALIDATION_ERROR batch_1_day_max_input_tokens'],
  ['a limit of audio', { max_audio_megabytes_per_1_minute: 5 }, 'VALIDATION_ERROR max_audio_megabytes_per_1_minute'],
  ['a limit of images', { max_images_per_1_minute: 5 }, 'VALIDATION_ERROR max_images_per_1_minute'],
  ['more requests than the plan has', { max_requests_per_1_minute: 61 }, 'VALIDATION_ERROR max_requests_per_1_minute'],
  ['more tokens than the plan has', { max_tokens_per_1_minute: 60_001 }, 'VALIDATION_ERROR max_tokens_per_1_minute'],
  ['no requests at all', { max_requests_per_1_minute: 0 }, 'VALIDATION_ERROR max_requests_per_1_minute'],
  ['a model that nobody serves', { rate_limit_id: 'rl_gpt-none' }, 'NOT_FOUND'],
  ['Auto, whose lanes have limits', { rate_limit_id: 'rl_svc-best' }, 'NOT_FOUND'],
])('a rate limit refuses %s and names the field', async (_what, change, refusal) => {
  const rate_limit_id = `rl_${servedIds()[0]!}`
  const input: Record<string, unknown> = { project_id, rate_limit_id, ...change }
  expect(await refusalOf(keys, 'rateLimits.update', input)).toBe(refusal)
  expect(fills).toEqual([])
})

test('an allow list and a deny list hold ids of the config until the list is deleted', async () => {
  const input = { project_id, mode: 'allow_list', model_ids: ['svc-best', 'svc-instant', 'svc-instant'] }
  const list = { object: 'project.model_permissions', mode: 'allow_list', model_ids: ['svc-best', 'svc-instant'] }
  expect(await refusalOf(keys, 'modelPermissions.retrieve', { project_id })).toBe('NOT_FOUND')
  expect(await call(keys, 'modelPermissions.update', input)).toEqual(list)
  expect(await call(keys, 'modelPermissions.retrieve', { project_id })).toEqual(list)
  expect(policyOf(filled()).models).toEqual({ mode: 'allow_list', ids: ['svc-best', 'svc-instant'] })
  const { policyVersion } = filled()

  await call(keys, 'modelPermissions.update', { project_id, mode: 'deny_list', model_ids: [] })
  expect(policyOf(filled()).models).toEqual({ mode: 'deny_list', ids: [] })
  expect(filled().policyVersion).toBeGreaterThan(policyVersion)
  expect(await call(keys, 'modelPermissions.delete', { project_id })).toMatchObject({ deleted: true })
  expect(policyOf(filled()).models).toBeNull()
  expect(await refusalOf(keys, 'modelPermissions.delete', { project_id })).toBe('NOT_FOUND')
  const unknown = { project_id, mode: 'deny_list', model_ids: ['svc-best', 'gpt-none'] }
  expect(await refusalOf(keys, 'modelPermissions.update', unknown)).toBe('VALIDATION_ERROR model_ids')
})

test('an alias stands for its model', async () => {
  const [model] = keys.config.current.models
  model!.aliases = ['claude-sonnet-4-5']
  const input = { project_id, mode: 'allow_list', model_ids: ['claude-sonnet-4-5', model!.id] }
  expect(await call(keys, 'modelPermissions.update', input)).toMatchObject({ model_ids: [model!.id] })
})

test('a spend limit is in cents on pay-as-you-go, and the store holds it in nano-dollars', async () => {
  const payg = { project_id: await create('payg') }
  expect(await refusalOf(keys, 'spendLimit.retrieve', payg)).toBe('NOT_FOUND')
  const limit = await call(keys, 'spendLimit.update', {
    ...payg,
    currency: 'USD',
    interval: 'month',
    threshold_amount: 1_234,
  })
  expect(limit).toEqual({
    ...{ object: 'project.spend_limit', currency: 'USD', interval: 'month', threshold_amount: 1_234 },
    enforcement: { status: 'inactive' },
  })
  expect(filled().hardLimit).toBe(12_340_000_000)
  expect(await call(keys, 'spendLimit.retrieve', payg)).toEqual(limit)
  expect(await call(keys, 'spendLimit.delete', payg)).toMatchObject({ deleted: true })
  expect(filled().hardLimit).toBeNull()
  expect(await refusalOf(keys, 'spendLimit.delete', payg)).toBe('NOT_FOUND')
})

test('on a plan that counts tokens the limit is `allowance`, and the store holds it in milli-tokens', async () => {
  const limit = await call(keys, 'spendLimit.update', { project_id, allowance: 5_000 })
  expect(limit).toMatchObject({ threshold_amount: 0, allowance: 5_000 })
  expect(filled().hardLimit).toBe(5_000_000)
})

test('a limit that would count nothing is refused', async () => {
  const payg = await create('payg')
  const refusals = [
    await refusalOf(keys, 'spendLimit.update', { project_id, threshold_amount: 500 }),
    await refusalOf(keys, 'spendLimit.update', { project_id: payg, allowance: 500 }),
    await refusalOf(keys, 'spendLimit.update', { project_id: payg, threshold_amount: 0.5 }),
    await refusalOf(keys, 'spendLimit.update', { project_id: payg, threshold_amount: 900_000_001 }),
    await refusalOf(keys, 'spendLimit.update', { project_id: payg, threshold_amount: 5, currency: 'EUR' }),
  ]
  const amount = 'VALIDATION_ERROR threshold_amount'
  expect(refusals).toEqual(['VALIDATION_ERROR allowance', amount, amount, amount, 'VALIDATION_ERROR currency'])
})

test('a new project may name no hosted tool; permitted ones reach the store in the words of the config', async () => {
  const none = await call(keys, 'hostedToolPermissions.retrieve', { project_id })
  const tools = ['code_interpreter', 'file_search', 'image_generation', 'mcp', 'web_search']
  expect(none).toEqual(Object.fromEntries(tools.map((tool) => [tool, { enabled: false }])))
  const change = { project_id, web_search: { enabled: true }, mcp: { enabled: true }, file_search: null }
  const some = { ...none, web_search: { enabled: true }, mcp: { enabled: true } }
  expect(await call(keys, 'hostedToolPermissions.update', change)).toEqual(some)
  expect(policyOf(filled()).hostedTools).toEqual(['mcp', 'web_fetch', 'web_search'])
  await call(keys, 'hostedToolPermissions.update', { project_id, web_search: { enabled: false } })
  expect(policyOf(filled()).hostedTools).toEqual(['mcp'])
  const unknown: Record<string, unknown> = { project_id, computer: { enabled: true } }
  expect(await refusalOf(keys, 'hostedToolPermissions.update', unknown)).toBe('VALIDATION_ERROR computer')
})

test('data retention is always none, and nothing else can be set', async () => {
  const zero = 'zero_data_retention'
  const ofProject = { object: 'project.data_retention', type: zero }
  const ofOrganization = { object: 'organization.data_retention', type: zero }
  expect(await call(keys, 'projectDataRetention.retrieve', { project_id })).toEqual(ofProject)
  expect(await call(keys, 'projectDataRetention.update', { project_id, retention_type: zero })).toEqual(ofProject)
  expect(await call(keys, 'dataRetention.retrieve', {})).toEqual(ofOrganization)
  expect(await call(keys, 'dataRetention.update', { retention_type: zero })).toEqual(ofOrganization)
  const other = { retention_type: 'modified_abuse_monitoring' }
  expect(await refusalOf(keys, 'dataRetention.update', other)).toBe('VALIDATION_ERROR retention_type')
  expect(await refusalOf(keys, 'projectDataRetention.update', { project_id, ...other })).toBe(
    'VALIDATION_ERROR retention_type',
  )
})

test('a personal account keeps the limits of its plan, and an archived project those that it had', async () => {
  await mintKey(keys, { owner: { issuer: 'https://id.example', subject: 'alice' } })
  const personal = (await call(keys, 'projects.list', {}, personCall({ subject: 'alice' }))).data[0]!.id
  await call(keys, 'projects.archive', { project_id })
  fills = []
  for (const id of [personal, project_id]) {
    const of = { project_id: id }
    const rate_limit_id = `rl_${servedIds()[0]!}`
    const refusals = [
      await refusalOf(keys, 'spendLimit.update', { ...of, allowance: 5 }),
      await refusalOf(keys, 'rateLimits.update', { ...of, rate_limit_id, max_requests_per_1_minute: 5 }),
      await refusalOf(keys, 'modelPermissions.update', { ...of, mode: 'deny_list', model_ids: [] }),
      await refusalOf(keys, 'hostedToolPermissions.update', { ...of, mcp: { enabled: true } }),
    ]
    expect(refusals).toEqual(['CONFLICT', 'CONFLICT', 'CONFLICT', 'CONFLICT'])
    expect(await readAll(id)).toHaveLength(servedIds().length)
  }
  expect(await call(keys, 'hostedToolPermissions.retrieve', { project_id: personal })).toMatchObject({
    mcp: { enabled: true },
  })
  expect(fills).toEqual([])
})

test('only an owner of the organization changes limits; a reader sees them', async () => {
  const reader = personCall({ subject: 'rita', role: 'reader' })
  expect(await refusalOf(keys, 'rateLimits.list', { project_id }, reader)).toBe('done')
  expect(await refusalOf(keys, 'spendLimit.update', { project_id, allowance: 5 }, reader)).toBe('FORBIDDEN')
})

test('while the store is away, a change is kept for it, and the response says that it does not hold yet', async () => {
  keys.admission.away = true
  const reply = await replyTo(keys, 'spendLimit.update', { project_id, allowance: 5 })
  expect(reply).toMatchObject({ kind: 'refused', code: 'SERVICE_UNAVAILABLE' })
  keys.admission.away = false
  await expect.poll(() => fills.at(-1)?.project?.hardLimit, { timeout: 20_000 }).toBe(5_000)
}, 30_000)

test('a project on another plan has the limit in the unit of that plan', async () => {
  await keys.bus.serve(subjects.meteringWarm, groups.metering, async () => Buffer.from('{"kind":"warmed"}'))
  const id = await create('payg')
  await call(keys, 'spendLimit.update', { project_id: id, threshold_amount: 100, allowance: 7 })
  const limits: (number | null)[] = [filled().hardLimit]
  await setPlan(keys, { subject: id.slice('proj_'.length), plan: 'free' })
  limits.push(filled().hardLimit)
  expect(limits).toEqual([1_000_000_000, 7_000])
})

test('a changed limit and a changed alert are shown by the audit log as changes of the project', async () => {
  await call(keys, 'spendLimit.update', { project_id, allowance: 5 })
  const rate_limit_id = `rl_${servedIds()[0]!}`
  await call(keys, 'rateLimits.update', { project_id, rate_limit_id, max_requests_per_1_minute: 5 })
  const notification_channel = { type: 'email', recipients: ['search@example.org'] }
  await call(keys, 'projectSpendAlerts.create', { project_id, allowance: 5, notification_channel })
  await call(keys, 'spendAlerts.create', { threshold_amount: 5, notification_channel })
  const { data } = await call(keys, 'auditLogs.list', { limit: 4 })
  const types = ['organization.updated', 'project.updated', 'rate_limit.updated', 'project.updated']
  expect(data.map(({ type }) => type)).toEqual(types)
  expect(data[2]).toMatchObject({
    'rate_limit.updated': { id: rate_limit_id, changes_requested: { max_requests_per_1_minute: 5 } },
  })
})

test('each change is in the audit log with the values before and after', async () => {
  await call(keys, 'spendLimit.update', { project_id, allowance: 5 })
  await call(keys, 'spendLimit.update', { project_id, allowance: 6 })
  const { rows } = await keys.database.query<{ entry: string }>(
    `select entry from keys.audit_log where type = 'project.updated' order by seq desc limit 1`,
  )
  expect(JSON.parse(rows[0]!.entry)).toMatchObject({
    project: project_id,
    before: { spend_limit: { threshold_amount: null, allowance: 5 } },
    after: { spend_limit: { threshold_amount: null, allowance: 6 } },
  })
})
