import { projectPolicy } from '@gateway/contracts/administration/policy'
import { startPostgres } from '@gateway/servers/start'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openKeysService } from '../../test/keys-service.ts'
import { call } from '../../test/projects.ts'
import { readProjectFacts } from '../db/project-facts.ts'
import type { ProjectLimits } from '../db/project-limits.ts'

const oneOf = <Value>(values: readonly Value[]) => fc.constantFrom(...values)
const rate = fc.option(fc.integer({ min: 1, max: 60 }), { nil: null })

/** One change of each kind of limit. */
const change = fc.oneof(
  fc.record({
    kind: fc.constant('hard' as const),
    allowance: fc.option(fc.integer({ min: 1, max: 1e12 }), { nil: null }),
  }),
  fc.record({
    kind: fc.constant('rates' as const),
    model: oneOf(['svc-instant', 'svc-fast', 'svc-embed']),
    requestsPerMinute: rate,
    tokensPerMinute: rate,
    requestsPerDay: rate,
  }),
  fc.record({
    kind: fc.constant('models' as const),
    mode: oneOf(['allow_list', 'deny_list', null] as const),
    ids: fc.uniqueArray(oneOf(['svc-instant', 'svc-fast', 'svc-best'])),
  }),
  fc.record({
    kind: fc.constant('tool' as const),
    tool: oneOf(['mcp', 'file_search'] as const),
    enabled: fc.boolean(),
  }),
)
type Change = typeof change extends fc.Arbitrary<infer One> ? One : never
type Keys = Awaited<ReturnType<typeof openKeysService>>

/** The limits that the project must have by its changes. */
class Model {
  hardLimit: number | null = null
  models: ProjectLimits['models'] = null
  readonly rates = new Map<string, { requestsPerMinute: unknown; tokensPerMinute: unknown; requestsPerDay: unknown }>()
  readonly tools = new Set<string>()

  apply(made: Change): void {
    if (made.kind === 'hard') this.hardLimit = made.allowance === null ? null : made.allowance * 1_000
    else if (made.kind === 'models') this.models = made.mode === null ? null : { mode: made.mode, ids: made.ids }
    else if (made.kind === 'tool') this.tools[made.enabled ? 'add' : 'delete'](made.tool)
    else {
      const { kind: _kind, model, ...rates } = made
      if (Object.values(rates).every((limit) => limit === null)) this.rates.delete(model)
      else this.rates.set(model, rates)
    }
  }

  facts() {
    const modelLimits = [...this.rates].map(([model, rates]) => ({ model, ...rates }))
    return {
      hardLimit: this.hardLimit,
      modelLimits: modelLimits.toSorted((a, b) => (a.model < b.model ? -1 : 1)),
      policy: { models: this.models, hostedTools: [...this.tools].toSorted() },
    }
  }
}

function make(keys: Keys, project_id: string, made: Change) {
  switch (made.kind) {
    case 'hard':
      if (made.allowance === null) return call(keys, 'spendLimit.delete', { project_id })
      return call(keys, 'spendLimit.update', { project_id, allowance: made.allowance })
    case 'rates':
      return call(keys, 'rateLimits.update', {
        project_id,
        rate_limit_id: `rl_${made.model}`,
        max_requests_per_1_minute: made.requestsPerMinute,
        max_tokens_per_1_minute: made.tokensPerMinute,
        max_requests_per_1_day: made.requestsPerDay,
      })
    case 'models':
      if (made.mode === null) return call(keys, 'modelPermissions.delete', { project_id })
      return call(keys, 'modelPermissions.update', { project_id, mode: made.mode, model_ids: made.ids })
    case 'tool':
      return call(keys, 'hostedToolPermissions.update', { project_id, [made.tool]: { enabled: made.enabled } })
  }
}

/** A list or limit that is not there cannot be deleted. */
function isPossible(made: Change, { hardLimit, models }: Model): boolean {
  if (made.kind === 'hard') return made.allowance !== null || hardLimit !== null
  return made.kind !== 'models' || made.mode !== null || models !== null
}

test('after any changes, the store and the tables hold the last ones, and the versions have grown with each', async () => {
  await using postgres = await startPostgres()
  await using keys = await openKeysService(postgres)
  const fills: Parameters<typeof keys.admission.fill>[0][] = []
  const { fill } = keys.admission
  keys.admission.fill = async (account) => {
    fills.push(account)
    await fill(account)
  }
  const property = async (changes: Change[]) => {
    const { id } = await call(keys, 'projects.create', { name: 'search', plan: 'free' })
    const account = id.slice('proj_'.length)
    const model = new Model()
    let [version, policyVersion] = [1, 0]
    for (const made of changes) {
      if (!isPossible(made, model)) continue
      await make(keys, id, made)
      model.apply(made)
      const facts = (await readProjectFacts(keys.database, [{ account, unit: 'tokens' }])).get(account)!
      const { policyVersion: newPolicyVersion, ...rest } = facts
      expect({ ...rest, policy: projectPolicy.parse(JSON.parse(facts.policy)) }).toEqual(model.facts())
      expect(newPolicyVersion > policyVersion).toBe(made.kind === 'models' || made.kind === 'tool')
      policyVersion = newPolicyVersion
      const written = fills.at(-1)!
      expect(written).toMatchObject({ account, project: facts })
      expect(written.version).toBeGreaterThan(version)
      version = written.version
    }
  }
  const changes = fc.array(change, { minLength: 1, maxLength: 8 })
  await fc.assert(fc.asyncProperty(changes, property), { numRuns: 30 })
}, 120_000)
