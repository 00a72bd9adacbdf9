import type { QuotaRecord } from '@gateway/contracts/metering-api'
import type { PlanUnit } from '@gateway/contracts/usage'
import { formatAmount, formatDate, formatUntil } from '../core/format.ts'
import classes from './allowance.module.css'
import { Fact, Facts } from './facts.tsx'

/** The bar warns from this share on. */
const WARN_AT = 0.8

/** The used part of the month's allowance, as figures and as a bar that warns at 80 %. */
export function Allowance({ quota }: { quota: QuotaRecord }) {
  const { used, limit, remaining, resetAt } = quota
  const unit: PlanUnit = quota.unit === 'usd' ? 'usd' : 'tokens'
  const share = limit > 0 ? Math.min(1, used / limit) : 1
  const level = share >= 1 ? 'out' : share >= WARN_AT ? 'low' : 'fine'
  const percent = Math.floor(share * 100)
  return (
    <div>
      <p className={classes.remaining}>
        <strong className="figures">{formatAmount(remaining, unit)}</strong> left
      </p>
      <div
        className={classes.bar}
        data-level={level}
        role="meter"
        aria-label="Allowance used"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent}
        aria-valuetext={`${percent} % used`}
      >
        <div className={classes.fill} style={{ inlineSize: `${Math.max(share * 100, used > 0 ? 0.6 : 0)}%` }} />
      </div>
      <Facts>
        <Fact name="Used">
          {formatAmount(used, unit)} <span className="quiet">({percent} %)</span>
        </Fact>
        <Fact name="Allowance">{formatAmount(limit, unit)}</Fact>
        <Fact name="Full again">
          {formatDate(resetAt)} <span className="quiet">({formatUntil(resetAt, Date.now())})</span>
        </Fact>
      </Facts>
      {level !== 'fine' && (
        <p className={classes.warning} data-level={level} role="status">
          {level === 'out'
            ? 'The allowance is used up: the gateway refuses requests until the allowance is full again, unless overage is on.'
            : 'You have used more than 80 % of this month’s allowance.'}
        </p>
      )}
    </div>
  )
}
