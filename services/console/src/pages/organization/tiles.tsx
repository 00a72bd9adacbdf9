import { formatCount, formatShare } from '../../core/format.ts'
import { countErrors, formatLatency, formatSpend } from '../../core/overview-figures.ts'
import type { CallOutput } from '../../gateway/administration.ts'
import classes from '../usage/usage.module.css'
import grid from './tiles.module.css'

export function Tiles({ overview }: { overview: CallOutput<'overview.show'> }) {
  const errors = countErrors(overview)
  const tiles = [
    { name: 'Requests', figure: formatCount(overview.ended), detail: `${formatCount(overview.requests)} charged` },
    { name: 'Errors', figure: formatCount(errors), detail: `${formatShare(errors, overview.ended)} of all` },
    {
      name: 'Latency, p50',
      figure: formatLatency(overview.p50_ms),
      detail: `p99 ${formatLatency(overview.p99_ms)}`,
    },
    {
      name: 'First token, p50',
      figure: formatLatency(overview.first_token_p50_ms),
      detail: `p99 ${formatLatency(overview.first_token_p99_ms)}`,
    },
    { name: 'Spend', figure: formatSpend(overview), detail: null },
    {
      name: 'Live streams',
      figure: formatCount(overview.live_streams),
      detail: `${formatCount(overview.live_requests)} requests run`,
    },
  ]
  return (
    <dl className={grid.tiles}>
      {tiles.map(({ name, figure, detail }) => (
        <div key={name} className={classes.tile}>
          <dt>{name}</dt>
          <dd className="figures">{figure}</dd>
          {detail !== null && <dd className={`${classes.detail} figures`}>{detail}</dd>}
        </div>
      ))}
    </dl>
  )
}
