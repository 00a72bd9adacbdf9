import type { UsageTotals } from '@gateway/contracts/usage-api'
import { formatCount } from '../../core/format.ts'
import type { Measure } from './measures.ts'
import classes from './usage.module.css'

export function TotalTiles({ totals, measures }: { totals: UsageTotals; measures: Measure[] }) {
  return (
    <dl className={classes.tiles}>
      {measures.map(({ value, label, figure, format }) => (
        <div key={value} className={classes.tile}>
          <dt>{label}</dt>
          <dd className="figures">{format(figure(totals))}</dd>
          {value === 'tokens' && (
            <dd className={classes.detail}>
              {formatCount(totals.prompt_tokens)} in, {formatCount(totals.completion_tokens)} out
            </dd>
          )}
        </div>
      ))}
    </dl>
  )
}
