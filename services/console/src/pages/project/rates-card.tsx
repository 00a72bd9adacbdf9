import { VisuallyHidden } from '@mantine/core'
import type { RateLimit } from '@gateway/contracts/administration/limits'
import { useState } from 'react'
import { formatCount } from '../../core/format.ts'
import { readFigure } from '../../core/key-limits.ts'
import { useOperationChange, useOperationPages } from '../../gateway/administration.ts'
import { Card } from '../../parts/card.tsx'
import { FigureField } from '../../parts/figure-field.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { PagedTable } from '../../parts/paged-table.tsx'
import { RowButton } from '../../parts/row-button.tsx'
import type { ProjectRights, ShownProject } from './use-project.ts'

interface RatesCardProps {
  project: ShownProject
  rights: ProjectRights
}

/** Requests and tokens of all keys to one model. A model without limits of its own shows those of the plan. */
export function RatesCard({ project, rights }: RatesCardProps) {
  const list = useOperationPages('rateLimits.list', { project_id: project.id, limit: 50 })
  const [changing, setChanging] = useState<RateLimit | null>(null)
  return (
    <Card title="Rate limits by model">
      <PagedTable
        list={list}
        empty="The gateway serves no model."
        label="Rate limits"
        name={{ title: 'Model', of: ({ model }) => model, className: 'mono' }}
        columns={[
          {
            title: 'Requests a minute',
            cell: ({ max_requests_per_1_minute: limit }) => formatCount(limit),
            isFigure: true,
          },
          {
            title: 'Tokens a minute',
            cell: ({ max_tokens_per_1_minute: limit }) => formatCount(limit),
            isFigure: true,
          },
          {
            title: 'Requests a day',
            cell: ({ max_requests_per_1_day: limit }) => (limit === undefined ? 'no limit' : formatCount(limit)),
            isFigure: true,
          },
          {
            title: <VisuallyHidden>Changes</VisuallyHidden>,
            isFigure: true,
            cell: (limit) =>
              rights.administers && <RowButton act="Change" of={limit.model} onClick={() => setChanging(limit)} />,
          },
        ]}
      />
      {changing && <ChangeRates project={project} limit={changing} onClose={() => setChanging(null)} />}
    </Card>
  )
}

interface ChangeRatesProps {
  project: ShownProject
  limit: RateLimit
  onClose: () => void
}

function ChangeRates({ project, limit, onClose }: ChangeRatesProps) {
  const update = useOperationChange('rateLimits.update')
  const [requests, setRequests] = useState(String(limit.max_requests_per_1_minute))
  const [tokens, setTokens] = useState(String(limit.max_tokens_per_1_minute))
  const [daily, setDaily] = useState(String(limit.max_requests_per_1_day ?? ''))
  const input = {
    project_id: project.id,
    rate_limit_id: limit.id,
    max_requests_per_1_minute: readFigure(requests),
    max_tokens_per_1_minute: readFigure(tokens),
    max_requests_per_1_day: readFigure(daily),
  }
  return (
    <FormDialog
      title={`Limits of ${limit.model}`}
      submit="Save"
      isWorking={update.isPending}
      error={update.error}
      onClose={onClose}
      onSubmit={() => update.mutate(input, { onSuccess: onClose })}
    >
      <p className="quiet">An empty field takes the plan’s limit.</p>
      <FigureField label="Requests a minute" placeholder="as in the plan" value={requests} onChange={setRequests} />
      <FigureField label="Tokens a minute" placeholder="as in the plan" value={tokens} onChange={setTokens} />
      <FigureField label="Requests a day" placeholder="as in the plan" value={daily} onChange={setDaily} />
    </FormDialog>
  )
}
