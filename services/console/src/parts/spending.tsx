import type { ProjectView } from '@gateway/contracts/administration/project-views'
import { formatAmount } from '../core/format.ts'
import classes from './spending.module.css'

const WARN_AT = 0.8

type Spent = Pick<ProjectView, 'spent' | 'limit' | 'limit_of' | 'unit'>

/** The spending of the month against the limit, as figures and a bar. */
export function Spending({ project, label }: { project: Spent; label: string }) {
  const { spent, limit, unit } = project
  if (limit === null) return <span className="figures">{formatAmount(spent, unit)}</span>
  const share = limit > 0 ? Math.min(1, spent / limit) : 1
  const percent = Math.floor(share * 100)
  return (
    <div className={classes.spending}>
      <span className="figures">
        {formatAmount(spent, unit)} <span className="quiet">of {formatAmount(limit, unit)}</span>
      </span>
      <div
        className={classes.bar}
        data-level={share >= 1 ? 'out' : share >= WARN_AT ? 'low' : 'fine'}
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent}
        aria-valuetext={`${percent} % used`}
      >
        <div style={{ inlineSize: `${share * 100}%` }} />
      </div>
    </div>
  )
}
