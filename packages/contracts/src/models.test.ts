import { describe, expect, test } from 'vitest'
import { createDefaultConfig } from './default-config.ts'
import { planIncludes, plansThatInclude } from './models.ts'

const { models, plans } = createDefaultConfig()
const plan = (slug: string) => plans.find((candidate) => candidate.slug === slug)!
const own = models.map((model) => model.id).filter((id) => id.startsWith('svc-'))
const included = (slug: string) => models.filter((model) => planIncludes(plan(slug), model)).map((model) => model.id)

describe('the models of a plan', () => {
  test('a guest may use the guest tier and nothing else', () => {
    expect(included('guest-device').sort()).toEqual(
      ['svc-best', 'svc-chat-md', 'svc-chat-sm', 'svc-embed', 'svc-embed-fast', 'svc-fast', 'svc-instant'].sort(),
    )
  })

  test('a free plan includes the models that are open to all plans', () => {
    const paidOnly = ['svc-pro', 'svc-research', 'svc-max', 'svc-code', 'svc-vision', 'svc-chat-lg', 'svc-reason']
    expect(included('free')).toEqual(own.filter((id) => !paidOnly.includes(id)))
  })

  test('paid plans include every model of the service', () => {
    expect(included('pro')).toEqual(own)
    expect(included('payg')).toEqual(models.map((model) => model.id))
  })

  test("a vendor's own model is for pay-as-you-go alone", () => {
    const direct = models.filter(({ id }) => !own.includes(id))
    expect(direct.map((model) => plansThatInclude(plans, model))).toEqual(direct.map(() => ['payg']))
    expect(direct).toHaveLength(6)
  })
})
