import { SegmentedControl, Skeleton } from '@mantine/core'
import { useState } from 'react'
import { PERIODS, questionFor, type Period } from '../../core/usage-days.ts'
import { useKeys, usePlan, useUsage } from '../../gateway/queries.ts'
import { activeKeyOf } from '../../gateway/active-key.ts'
import { Answer } from '../../parts/answer.tsx'
import { Page } from '../../parts/page.tsx'
import { DaysCard } from './days-card.tsx'
import { measuresFor } from './measures.ts'
import { ModelsCard } from './models-card.tsx'
import { NothingUsed } from './nothing-used.tsx'
import { TotalTiles } from './total-tiles.tsx'

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
  const hasKey = activeKeyOf(useKeys().data) !== undefined
  const unit = usePlan(hasKey).data?.unit
  const month = useUsage({ group_by: 'day' })
  const question = questionFor(period, month.data?.to)
  const days = useUsage({ ...question, group_by: 'day' }, question !== null)
  const models = useUsage({ ...question, group_by: 'model' }, question !== null)
  return (
    <Answer query={days} loading={<UsageSkeleton />}>
      {(record) => {
        if (record.totals.requests === 0) return <NothingUsed />
        const measures = measuresFor(record.totals, unit)
        return (
          <>
            <TotalTiles totals={record.totals} measures={measures} />
            <DaysCard record={record} measures={measures} />
            <Answer query={models} loading={<Skeleton height={220} radius="lg" />}>
              {({ data }) => <ModelsCard rows={data} measures={measures} />}
            </Answer>
          </>
        )
      }}
    </Answer>
  )
}

function UsageSkeleton() {
  return (
    <>
      <Skeleton height={88} radius="lg" mb={20} />
      <Skeleton height={370} radius="lg" mb={20} />
      <Skeleton height={220} radius="lg" />
    </>
  )
}
