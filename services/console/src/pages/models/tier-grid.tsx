import type { TierEntry } from '@gateway/contracts/catalog'
import type { PlanRecord } from '@gateway/contracts/plan-api'
import { formatMultiplier, formatPrice } from '../../core/format.ts'
import { StatusBadge } from '../../parts/status-badge.tsx'
import classes from './tier-grid.module.css'

/** The lanes in the catalog's order, each with its price on the plan. */
export function TierGrid({ tiers, plan }: { tiers: TierEntry[]; plan: PlanRecord | undefined }) {
  return (
    <ul className={classes.grid}>
      {tiers.map((tier) => (
        <Tier key={tier.id} tier={tier} plan={plan} />
      ))}
    </ul>
  )
}

function Tier({ tier, plan }: { tier: TierEntry; plan: PlanRecord | undefined }) {
  const planned = plan?.models.find(({ id }) => id === tier.id)
  const isPaid = tier.availability === 'paid'
  return (
    <li className={classes.tier} data-excluded={planned?.included === false}>
      <div className={classes.head}>
        <h2 dir="auto" className={classes.name}>
          {tier.name}
        </h2>
        <span className={`${classes.price} figures`}>{priceOf(tier, planned?.price ?? null)}</span>
      </div>
      <p className={`${classes.id} mono`}>{tier.id}</p>
      <p dir="auto" className={classes.purpose}>
        {tier.purpose}
      </p>
      {planned ? (
        <StatusBadge tone={planned.included ? 'good' : 'quiet'}>
          {planned.included ? 'in your plan' : 'not in your plan'}
        </StatusBadge>
      ) : (
        <StatusBadge tone="quiet">{isPaid ? 'paid plans' : 'all plans'}</StatusBadge>
      )}
    </li>
  )
}

function priceOf(tier: TierEntry, price: Parameters<typeof formatPrice>[0] | null): string {
  if (price) return formatPrice(price)
  return tier.multiplier === null ? 'as its lane' : formatMultiplier(tier.multiplier)
}
