import { SegmentedControl } from '@mantine/core'
import { useState } from 'react'
import { formatCount } from '../../core/format.ts'
import { countErrors, formatLatency, formatSpend } from '../../core/overview-figures.ts'
import type { CallOutput } from '../../gateway/administration.ts'
import { Card } from '../../parts/card.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { WideTable, type Column } from '../../parts/wide-table.tsx'

type Overview = CallOutput<'overview.show'>
type Project = Overview['projects'][number]
type Model = Overview['models'][number]
type Backend = Overview['backends'][number]

const PARTS = [
  { value: 'project', label: 'Project' },
  { value: 'model', label: 'Model' },
  { value: 'backend', label: 'Backend' },
] as const
type Part = (typeof PARTS)[number]['value']

/** The same figures by project, by requested model and by backend. */
export function PartsCard({ overview }: { overview: Overview }) {
  const [part, setPart] = useState<Part>('project')
  return (
    <Card
      title={`By ${part}`}
      aside={<SegmentedControl aria-label="Figures by" size="xs" data={[...PARTS]} value={part} onChange={setPart} />}
    >
      {part === 'project' && <Projects overview={overview} />}
      {part === 'model' && <Models models={overview.models} />}
      {part === 'backend' && <Backends backends={overview.backends} />}
    </Card>
  )
}

const MEASURED: Column<Backend>[] = [
  { title: 'Requests', cell: ({ ended }) => formatCount(ended), isFigure: true },
  { title: 'Errors', cell: (row) => formatCount(countErrors(row)), isFigure: true },
  { title: 'p50', cell: ({ p50_ms: ms }) => formatLatency(ms), isFigure: true },
  { title: 'p99', cell: ({ p99_ms: ms }) => formatLatency(ms), isFigure: true },
  { title: 'First token, p50', cell: ({ first_token_p50_ms: ms }) => formatLatency(ms), isFigure: true },
  { title: 'Live streams', cell: ({ live_streams: streams }) => formatCount(streams), isFigure: true },
]
const SPEND: Column<Model> = { title: 'Spend', cell: (row) => formatSpend(row), isFigure: true }

function Projects({ overview: { projects, other_projects: others } }: { overview: Overview }) {
  if (projects.length === 0) return <p className="quiet">No project has sent a request.</p>
  return (
    <>
      <WideTable
        label="Figures by project"
        rows={projects}
        name={{
          title: 'Project',
          of: nameOf,
          keyOf: ({ id }) => id,
          cell: (project) => <PageLink to={`/projects/${project.id}`}>{nameOf(project)}</PageLink>,
        }}
        columns={[SPEND, ...MEASURED]}
      />
      {others.count > 0 && (
        <p className="quiet">
          {formatCount(others.count)} more with less spend: {formatCount(others.requests)} requests,{' '}
          {formatSpend(others)}.
        </p>
      )}
    </>
  )
}

/** A person's own account has no name. */
function nameOf({ id, name }: Project): string {
  return name ?? id
}

function Models({ models }: { models: Model[] }) {
  if (models.length === 0) return <p className="quiet">No model was requested.</p>
  return (
    <WideTable
      label="Figures by model"
      rows={models}
      name={{ title: 'Requested model', of: ({ id }) => id, className: 'mono' }}
      columns={[SPEND, ...MEASURED]}
    />
  )
}

function Backends({ backends }: { backends: Backend[] }) {
  if (backends.length === 0) return <p className="quiet">No backend has served a request.</p>
  return (
    <WideTable
      label="Figures by backend"
      rows={backends}
      name={{ title: 'Backend', of: ({ id }) => id, className: 'mono' }}
      columns={MEASURED}
    />
  )
}
