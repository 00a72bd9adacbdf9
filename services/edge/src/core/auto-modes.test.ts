import { createDefaultConfig } from '@gateway/contracts/default-config'
import type { AutoModelConfig, PlanConfig } from '@gateway/contracts/config'
import type { ChatMessage } from '@gateway/contracts/chat'
import { expect, test } from 'vitest'
import { chooseLane, type LaneChoice } from './choose-lane.ts'

const config = { revision: 'test', ...createDefaultConfig() }
const auto = config.models.find((model): model is AutoModelConfig => model.type === 'auto')!
const paid = config.plans.find((plan) => plan.paid)!
const free = config.plans.find((plan) => !plan.paid && !plan.guest)!
const proof: ChatMessage[] = [{ role: 'user', content: 'Prove that there is no largest prime number' }]
/** Between two lanes: neither is far ahead. */
const UNSURE = ['trees?', 'plan b', 'the moon and tides', 'tell me about my cat', 'list ideas', 'explain it']

function choose(model: AutoModelConfig, plan: PlanConfig, messages: ChatMessage[]): LaneChoice | null {
  return chooseLane(config, plan, model, ['chat'], messages, 0)
}

test("in shadow mode the named lane serves, and Auto's choice is reported beside it", () => {
  const choice = choose({ ...auto, shadow: 'svc-fast' }, paid, proof)
  expect(choice).toMatchObject({ lane: { id: 'svc-fast' }, reason: 'shadow', wantedId: 'svc-pro' })
  expect(choice).not.toHaveProperty('confidence')
})

test('a shadow lane that the plan does not include leaves the first lane that it does', () => {
  const choice = choose({ ...auto, shadow: 'svc-code' }, free, proof)
  expect(choice).toMatchObject({ lane: { id: 'svc-instant' }, reason: 'shadow' })
})

test('out of shadow mode the wanted lane serves', () => {
  expect(choose(auto, paid, proof)).toMatchObject({ lane: { id: 'svc-pro' }, wantedId: 'svc-pro' })
})

test('a plan that leans never pays more, or less, than the likeliest lane costs', () => {
  const multiplier = (plan: PlanConfig, content: string): number =>
    choose(auto, plan, [{ role: 'user', content }])?.lane.multiplier ?? Number.NaN
  let moved = 0
  for (const content of UNSURE) {
    const likeliest = multiplier(paid, content)
    const cheapest = multiplier({ ...paid, autoTakes: 'cheapest' }, content)
    const best = multiplier({ ...paid, autoTakes: 'best' }, content)
    expect(cheapest).toBeLessThanOrEqual(likeliest)
    expect(best).toBeGreaterThanOrEqual(likeliest)
    if (cheapest < best) moved++
  }
  expect(moved).toBeGreaterThan(0)
})
