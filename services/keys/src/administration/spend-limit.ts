/**
 * The hard limit of a project's calendar month: cents on pay-as-you-go, tokens on plans that count them. The admission store
 * holds it exactly.
 */

import type { SpendLimit } from '@gateway/contracts/administration/limits'
import type { PlanUnit } from '@gateway/contracts/usage'
import { GatewayError } from '@gateway/contracts/errors'
import { unitOf } from '../core/plans.ts'
import { hardLimitIn, type HardLimits } from '../core/project-facts.ts'
import type { ProjectRow } from '../db/projects.ts'
import { spentThisMonth } from '../db/spending.ts'
import type { AdministrationCall, AdministrationHandlers } from './call.ts'
import { changeLimits, limitsOf, updatedProject } from './change-limits.ts'
import { readProject } from './project-of-call.ts'

export const spendLimitHandlers = {
  'spendLimit.retrieve': async (call, input) => {
    const project = await readProject(call, input)
    return view(call, project, expectLimit(await limitsOf(call, project)))
  },

  'spendLimit.update': async (call, input) => {
    const limit = { spendCents: input.threshold_amount ?? null, allowanceTokens: input.allowance ?? null }
    const project = await readProject(call, input)
    await changeLimits(call, input, (held, { plan }) => {
      expectUnit(unitIn(call, plan), limit)
      call.audit(updatedProject(input, { before: bare(held), after: bare(limit) }))
      return { ...held, ...limit }
    })
    return view(call, project, limit)
  },

  'spendLimit.delete': async (call, input) => {
    await changeLimits(call, input, (held) => {
      expectLimit(held)
      call.audit(updatedProject(input, { before: bare(held), after: bare(NONE) }))
      return { ...held, ...NONE }
    })
    return { object: 'project.spend_limit.deleted', deleted: true }
  },
} satisfies Partial<AdministrationHandlers>

const NONE: HardLimits = { spendCents: null, allowanceTokens: null }

function unitIn({ context }: AdministrationCall, plan: string): PlanUnit {
  return unitOf(context.config.current.plans, plan)
}

function expectLimit<Limits extends HardLimits>(limits: Limits): Limits {
  if (limits.spendCents !== null || limits.allowanceTokens !== null) return limits
  throw new GatewayError('NOT_FOUND', 'The project has no spend limit')
}

/** A limit that counts nothing would look like one. */
function expectUnit(unit: PlanUnit, limit: HardLimits): void {
  if (hardLimitIn(unit, limit) !== null) return
  const [param, message] =
    unit === 'usd'
      ? ['threshold_amount', "the project's plan counts US dollars: set `threshold_amount`, in cents"]
      : ['allowance', "the project's plan counts tokens: set `allowance`, in tokens"]
  throw new GatewayError('VALIDATION_ERROR', `${param}: ${message}`, { param })
}

function bare({ spendCents, allowanceTokens }: HardLimits): Record<string, unknown> {
  return { spend_limit: { threshold_amount: spendCents, allowance: allowanceTokens } }
}

async function view(
  call: AdministrationCall,
  { tag, plan }: Pick<ProjectRow, 'tag' | 'plan'>,
  limits: HardLimits,
): Promise<SpendLimit> {
  const unit = unitIn(call, plan)
  const hardLimit = hardLimitIn(unit, limits)
  const { milliTokens, nanoUsd } = await spentThisMonth(call.transaction, tag)
  const used = unit === 'usd' ? nanoUsd : milliTokens
  return {
    object: 'project.spend_limit',
    currency: 'USD',
    interval: 'month',
    threshold_amount: limits.spendCents ?? 0,
    ...(limits.allowanceTokens !== null && { allowance: limits.allowanceTokens }),
    enforcement: { status: hardLimit !== null && used >= hardLimit ? 'enforcing' : 'inactive' },
  }
}
