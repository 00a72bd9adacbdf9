import { describe, expect, test } from 'vitest'
import { createDefaultConfig } from '@gateway/contracts/default-config'
import { servedModelConfig } from '@gateway/contracts/config'
import { planIncludes, plansThatInclude } from './plan-includes.ts'

const { models, plans } = createDefaultConfig()
const plan = (slug: string) => plans.find((candidate) => candidate.slug === slug)!
const included = (slug: string) => models.filter((model) => planIncludes(plan(slug), model)).map((model) => model.id)

describe('what a plan includes', () => {
  test('a guest may use the guest tier and nothing else', () => {
    expect(included('guest-device').sort()).toEqual(
      ['svc-best', 'svc-chat-md', 'svc-chat-sm', 'svc-embed', 'svc-embed-fast', 'svc-fast', 'svc-instant'].sort(),
    )
  })

  test('a free plan includes what is open to all plans', () => {
    const paidOnly = ['svc-pro', 'svc-research', 'svc-max', 'svc-code', 'svc-vision', 'svc-chat-lg', 'svc-reason']
    expect(included('free')).toEqual(models.map((model) => model.id).filter((id) => !paidOnly.includes(id)))
  })

  test('paid plans include every model of the service', () => {
    expect(included('pro')).toHaveLength(models.length)
    expect(included('payg')).toHaveLength(models.length)
  })

  test("a vendor's own model is for pay-as-you-go alone", () => {
    const direct = servedModelConfig.parse({
      id: 'gpt-5',
      type: 'chat',
      pool: 'openai-direct',
      direct: true,
      rates: { inputUsdPerMillion: 1.25, outputUsdPerMillion: 10 },
    })
    expect(plansThatInclude(plans, direct)).toEqual(['payg'])
  })
})
