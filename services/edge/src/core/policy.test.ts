import fc from 'fast-check'
import { expect, test } from 'vitest'
import { backendConfig, modelConfig, planConfig, poolConfig, type GatewayConfig } from '@gateway/contracts/config'
import { type HostedCalls, hostedTools } from '@gateway/contracts/hosted-tools'
import { findModel } from '@gateway/contracts/models'
import { makeOffer } from '../admission/admit.ts'
import { modelRefused } from '../admission/denials.ts'
import { chat } from '../requests/inference-kinds.ts'
import { permittedCalls, readPolicy } from './policy.ts'

const served = (id: string, fields: object) =>
  modelConfig.parse({ id, type: 'chat', pool: 'p', multiplier: 1, ...fields })
const config: GatewayConfig = {
  revision: 'r',
  backends: [backendConfig.parse({ id: 'b', url: 'http://127.0.0.1:1', capabilities: ['chat'] })],
  pools: [poolConfig.parse({ id: 'p', targets: [{ backend: 'b', model: 'm' }] })],
  models: [
    served('small', { aliases: ['gpt-small', 'claude-small'] }),
    served('large', { aliases: ['gpt-large'], availability: 'paid' }),
    served('lonely', {}),
    modelConfig.parse({ id: 'auto', type: 'auto', aliases: ['gpt-auto'], lanes: ['small', 'large'] }),
  ],
  plans: [
    planConfig.parse({ slug: 'free', limit: 1_000, rpm: 1, tpm: 1 }),
    planConfig.parse({ slug: 'pro', limit: 1_000, rpm: 1, tpm: 1, paid: true }),
  ],
}
const names = config.models.flatMap(({ id, aliases }) => [id, ...aliases])
const anyNames = fc.subarray([...names, 'of-another-config'])

const anyPolicy = fc.record({
  project: fc.option(fc.record({ mode: fc.constantFrom('allow_list', 'deny_list'), ids: anyNames })),
  key: fc.option(anyNames),
})
type AnyPolicy = typeof anyPolicy extends fc.Arbitrary<infer Value> ? Value : never

const policyOf = ({ project, key }: AnyPolicy) =>
  readPolicy({
    hint: '1.1',
    project: JSON.stringify({ models: project, hostedTools: [] }),
    key: JSON.stringify({ models: key, userId: null }),
  })
const request = (model: string) => chat({ model, messages: [{ role: 'user', content: 'hello' }] }, config.models)

/** The ids that a list names, as a request's `model` would. */
const idsOf = (list: string[]) => new Set(list.flatMap((name) => findModel(config.models, name)?.id ?? []))

/** Read off the rule: the lanes that may serve, or the list that refuses. */
function expected({ project, key }: AnyPolicy, id: string, paid: boolean): string[] | 'plan' | 'project' | 'key' {
  if (id === 'large' && !paid) return 'plan'
  const ofProject = project && { ...project, ids: idsOf(project.ids) }
  if (ofProject && ofProject.ids.has(id) === (ofProject.mode === 'deny_list')) return 'project'
  if (key && !idsOf(key).has(id)) return 'key'
  if (id !== 'auto') return [id]
  const lanes = paid ? ['small', 'large'] : ['small']
  const left = lanes.filter((lane) => ofProject?.mode !== 'deny_list' || !ofProject.ids.has(lane))
  return left.length === 0 ? 'project' : left
}

test('any model under any lists of project and key: a lane is offered exactly where plan, project and key permit it', () => {
  fc.assert(
    fc.property(anyPolicy, fc.constantFrom(...names), fc.boolean(), (lists, name, paid) => {
      const model = findModel(config.models, name)!
      const offer = makeOffer(config, paid ? 'pro' : 'free', model, request(name), policyOf(lists))
      const right = expected(lists, model.id, paid)
      if (typeof right === 'string') expect([offer.chosen, offer.refusedBy]).toEqual([null, right])
      else expect(right).toContain(offer.chosen?.lane.id)
    }),
    { numRuns: 1_000 },
  )
})

test.each([
  ['plan', 'account', 'plan free'],
  ['project', 'account', 'project'],
  ['key', 'key', 'of this key'],
] as const)(
  'a model that the %s leaves out is a plan_limit of scope %s, whose sentence names it',
  (by, scope, words) => {
    const { code, message, details } = modelRefused(by, 'free', config, config.models[1]!)
    expect(code).toBe('rate_limit_exceeded')
    expect(details).toEqual({ type: 'plan_limit', scope, retryAfterMs: 0 })
    expect(message).toContain('large')
    expect(message).toContain(words)
  },
)

test('of the tools that a model may run, a project has those that it permits; their calls stay within the limits', () => {
  const anyCalls = fc
    .tuple(
      fc.dictionary(fc.constantFrom(...hostedTools), fc.integer({ min: 0, max: 20 })),
      fc.integer({ min: 0, max: 20 }),
    )
    .map(([calls, most]): HostedCalls => {
      const sum = Object.values(calls).reduce((all, one) => all + one, 0)
      return { calls, total: Math.min(sum, most) }
    })
  fc.assert(
    fc.property(anyCalls, fc.subarray([...hostedTools]), (allowed, permitted) => {
      const policy = { ...policyOf({ project: null, key: null }), hostedTools: permitted }
      const { calls, total } = permittedCalls(policy, allowed)
      for (const tool of hostedTools)
        expect(calls[tool]).toBe(permitted.includes(tool) ? allowed.calls[tool] : undefined)
      const sum = Object.values(calls).reduce((all, one) => all + one, 0)
      expect(total).toBe(Math.min(sum, allowed.total))
    }),
  )
})

test("a project's requests have no tools of vendors unless it permits them", () => {
  const tools = [{ type: 'web_search_options' }]
  const searching = chat(
    { model: 'small', messages: [{ role: 'user', content: 'news' }], web_search_options: {}, tools },
    config.models,
  )
  const { chosen } = makeOffer(config, 'free', config.models[0]!, searching, policyOf({ project: null, key: null }))
  expect(chosen?.hosted).toEqual({ calls: {}, total: 0 })
})
