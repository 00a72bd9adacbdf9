import type { PlanRecord } from '@gateway/contracts/plan-api'
import { formatCount } from '../../core/format.ts'
import { StatusBadge } from '../../parts/status-badge.tsx'
import classes from './plan-facts.module.css'

export function PlanFacts({ plan }: { plan: PlanRecord }) {
  const included = plan.models.filter((model) => model.included && !model.replacement).length
  return (
    <dl className={classes.facts}>
      <div>
        <dt>Plan</dt>
        <dd>
          {plan.plan} {plan.overage && <StatusBadge tone="accent">overage on</StatusBadge>}
        </dd>
      </div>
      <div>
        <dt>Models included</dt>
        <dd className="figures">{included}</dd>
      </div>
      <div>
        <dt>Requests a minute</dt>
        <dd className="figures">{formatCount(plan.requests_per_minute)}</dd>
      </div>
      <div>
        <dt>Tokens a minute</dt>
        <dd className="figures">
          {formatCount(plan.tokens_per_minute)} <span className="quiet">(a burst: up to twice)</span>
        </dd>
      </div>
    </dl>
  )
}
