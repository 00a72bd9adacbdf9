import { SegmentedControl } from '@mantine/core'
import type { UsageTotals } from '@gateway/contracts/usage-api'
import { useState } from 'react'
import { formatCount } from '../../core/format.ts'
import { PERIODS, datesFor, type Period } from '../../core/usage-days.ts'
import { usePlan, useUsage } from '../../gateway/queries.ts'
import { QueryView } from '../../parts/query-view.tsx'
import { Card } from '../../parts/card.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { Page } from '../../parts/page.tsx'
import { DaysCard } from './days-card.tsx'
import { measuresFor, type Measure } from './measures.ts'
import { ModelsCard } from './models-card.tsx'
import { SessionsCard } from './sessions-card.tsx'
import classes from './usage.module.css'

export default function UsagePage() {
  const [period, setPeriod] = useState<Period>('month')
  return (
    <Page
      title="Usage"
      lead="From the ledger, in days of UTC. A request appears some seconds after it has ended."
      actions={
        <SegmentedControl aria-label="Period" size="xs" data={[...PERIODS]} value={period} onChange={setPeriod} />
      }
    >
      <UsageOver period={period} />
    </Page>
  )
}

function UsageOver({ period }: { period: Period }) {
  const unit = usePlan().data?.unit
  const month = useUsage({ group_by: 'day' })
  const dates = datesFor(period, month.data?.to)
  const days = useUsage({ ...dates, group_by: 'day' }, dates !== null)
  const models = useUsage({ ...dates, group_by: 'model' }, dates !== null)
  const sessions = useUsage({ ...dates, group_by: 'session' }, dates !== null)
  return (
    <QueryView query={days} heights={[88, 370, 220]}>
      {(record) => {
        if (record.totals.requests === 0) return <NothingUsed />
        const measures = measuresFor(record.totals, unit)
        return (
          <>
            <TotalTiles totals={record.totals} measures={measures} />
            <DaysCard record={record} measures={measures} />
            <QueryView query={models} heights={[220]}>
              {({ data }) => <ModelsCard rows={data} measures={measures} />}
            </QueryView>
            <QueryView query={sessions} heights={[]}>
              {({ data }) => <SessionsCard rows={data} measures={measures} />}
            </QueryView>
          </>
        )
      }}
    </QueryView>
  )
}

function NothingUsed() {
  return (
    <Card>
      <div className={classes.empty}>
        <h2 className={classes.emptyTitle}>No usage in this time</h2>
        <p className="quiet">
          Send a message in the <PageLink to="/playground">playground</PageLink>, or choose another period.
        </p>
      </div>
    </Card>
  )
}

function TotalTiles({ totals, measures }: { totals: UsageTotals; measures: readonly Measure[] }) {
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
