import { SegmentedControl } from '@mantine/core'
import type { OverviewWindow } from '@gateway/contracts/administration/overview'
import { useState } from 'react'
import { formatMoment } from '../../core/format.ts'
import { WINDOWS } from '../../core/overview-figures.ts'
import { useOperation, type CallOutput } from '../../gateway/administration.ts'
import { Page } from '../../parts/page.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { ErrorsCard } from './errors-card.tsx'
import { PartsCard } from './parts-card.tsx'
import { SeriesCard } from './series-card.tsx'
import { Tiles } from './tiles.tsx'

/** A tab in the background does not fetch. */
const EVERY_MS = 5_000

/** The figures of the whole organization, which follow the gateway while the page is open. */
export default function OrganizationOverviewPage() {
  const [window, setWindow] = useState<OverviewWindow>('hour')
  const overview = useOperation('overview.show', { window }, { keepsPrevious: true, everyMs: EVERY_MS })
  return (
    <Page
      title="Organization"
      lead="All requests of the last hour, day or month, in UTC. The page follows the gateway."
      actions={
        <SegmentedControl aria-label="Window" size="xs" data={[...WINDOWS]} value={window} onChange={setWindow} />
      }
    >
      <QueryView query={overview} heights={[88, 370, 160, 300]}>
        {(record) => (
          <>
            <Tiles overview={record} />
            <SeriesCard overview={record} />
            <PartsCard overview={record} />
            <ErrorsCard overview={record} />
            <Sources overview={record} />
          </>
        )}
      </QueryView>
    </Page>
  )
}

/** Where the figures come from, and the part that is missing. */
function Sources({ overview: { edges, from } }: { overview: CallOutput<'overview.show'> }) {
  const isComplete = edges.since <= from
  return (
    <p className="quiet">
      Spend is the ledger’s. Errors and latencies are those of {edges.replied} of {edges.known} edges
      {!isComplete && `, complete since ${formatMoment(new Date(edges.since * 1_000).toISOString())}`}; a latency is at
      most 9.1 % off.
    </p>
  )
}
