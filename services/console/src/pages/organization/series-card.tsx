import type { OverviewWindow } from '@gateway/contracts/administration/overview'
import { formatCompact, formatCount, formatDuration, formatUsd } from '../../core/format.ts'
import { countErrors, formatLatency, formatSpend, labelOf, measuresOf } from '../../core/overview-figures.ts'
import type { BucketMeasure, OverviewBucket } from '../../core/overview-figures.ts'
import type { CallOutput } from '../../gateway/administration.ts'
import { Bars } from '../../parts/bars.tsx'
import { ChartCard } from '../../parts/chart-card.tsx'
import { WideTable, type Column } from '../../parts/wide-table.tsx'

const BUCKET: Record<OverviewWindow, string> = { hour: 'minute', day: 'hour', month: 'day' }

export function SeriesCard({ overview }: { overview: CallOutput<'overview.show'> }) {
  const { window, series } = overview
  const title = `By ${BUCKET[window]}`
  return (
    <ChartCard
      title={title}
      measures={measuresOf(overview)}
      chart={(measure) => (
        <Bars
          bars={series.map((bucket) => ({
            key: String(bucket.start_time),
            label: labelOf(window, bucket.start_time),
            value: measure.figure(bucket),
          }))}
          title={`${measure.label} a ${BUCKET[window]}`}
          summary={summarise(overview, measure)}
          format={measure.format}
          short={SHORT.get(measure.format) ?? formatCompact}
        />
      )}
      table={
        <WideTable
          label={`Figures ${title.toLowerCase()}`}
          rows={series.toReversed()}
          name={{
            title: `Begin of the ${BUCKET[window]}`,
            of: ({ start_time: at }) => labelOf(window, at),
            keyOf: ({ start_time: at }) => String(at),
          }}
          columns={COLUMNS}
        />
      }
    />
  )
}

const SHORT = new Map<BucketMeasure['format'], (value: number) => string>([
  [formatUsd, formatUsd],
  [formatDuration, formatDuration],
  [formatCount, formatCompact],
])

const COLUMNS: Column<OverviewBucket>[] = [
  { title: 'Requests', cell: ({ ended }) => formatCount(ended), isFigure: true },
  { title: 'Errors', cell: (bucket) => formatCount(countErrors(bucket)), isFigure: true },
  { title: 'p50', cell: ({ p50_ms: ms }) => formatLatency(ms), isFigure: true },
  { title: 'p99', cell: ({ p99_ms: ms }) => formatLatency(ms), isFigure: true },
  { title: 'First token, p50', cell: ({ first_token_p50_ms: ms }) => formatLatency(ms), isFigure: true },
  { title: 'Spend', cell: (bucket) => formatSpend(bucket), isFigure: true },
]

function summarise({ window, series }: CallOutput<'overview.show'>, { label, figure, format }: BucketMeasure): string {
  const title = `${label} a ${BUCKET[window]}`
  const values = series.map(figure)
  const highest = Math.max(...values)
  const bucket = series[values.indexOf(highest)]
  if (!bucket || highest === 0) return `${title}: none.`
  return `${title}: the most at ${labelOf(window, bucket.start_time)}, ${format(highest)}.`
}
