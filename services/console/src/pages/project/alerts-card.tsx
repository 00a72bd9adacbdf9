import { Button, TextInput, VisuallyHidden } from '@mantine/core'
import type { ProjectSpendAlert } from '@gateway/contracts/administration/spend-alerts'
import type { PlanUnit } from '@gateway/contracts/usage'
import { useState } from 'react'
import { formatAmount } from '../../core/format.ts'
import { useOperationChange, useOperationPages } from '../../gateway/administration.ts'
import { Card } from '../../parts/card.tsx'
import { FigureField } from '../../parts/figure-field.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { PagedTable } from '../../parts/paged-table.tsx'
import { ProblemNotice } from '../../parts/problem-notice.tsx'
import { problemOf } from '../../parts/query-view.tsx'
import { RowButton } from '../../parts/row-button.tsx'
import type { ProjectRights, ShownProject } from './use-project.ts'

const CENTS_PER_USD = 100

interface AlertsCardProps {
  project: ShownProject
  rights: ProjectRights
}

export function AlertsCard({ project, rights }: AlertsCardProps) {
  const list = useOperationPages('projectSpendAlerts.list', { project_id: project.id, limit: 25 })
  const remove = useOperationChange('projectSpendAlerts.delete')
  const [isAdding, setIsAdding] = useState(false)
  return (
    <Card
      title="Spend alerts"
      aside={
        rights.manages && (
          <Button variant="default" size="xs" onClick={() => setIsAdding(true)}>
            Add an alert
          </Button>
        )
      }
    >
      {remove.error && <ProblemNotice problem={problemOf(remove.error)} />}
      <PagedTable
        list={list}
        empty="None."
        label="Alerts and their recipients"
        name={{ title: 'At', of: thresholdOf, keyOf: ({ id }) => id }}
        columns={[
          { title: 'Recipients', cell: (alert) => alert.notification_channel.recipients.join(', ') },
          {
            title: <VisuallyHidden>Changes</VisuallyHidden>,
            isFigure: true,
            cell: (alert) =>
              rights.manages && (
                <RowButton
                  act="Delete"
                  of={`the alert at ${thresholdOf(alert)}`}
                  onClick={() => remove.mutate({ project_id: project.id, alert_id: alert.id })}
                />
              ),
          },
        ]}
      />
      {isAdding && <AddAlert project={project} onClose={() => setIsAdding(false)} />}
    </Card>
  )
}

function thresholdOf({ threshold_amount: cents, allowance }: ProjectSpendAlert): string {
  return allowance === undefined
    ? formatAmount(cents / CENTS_PER_USD, 'usd' satisfies PlanUnit)
    : formatAmount(allowance, 'tokens')
}

function AddAlert({ project, onClose }: { project: ShownProject; onClose: () => void }) {
  const add = useOperationChange('projectSpendAlerts.create')
  const [text, setText] = useState('')
  const [recipients, setRecipients] = useState('')
  const isUsd = project.unit === 'usd'
  const threshold = isUsd ? { threshold_amount: Math.round(Number(text) * CENTS_PER_USD) } : { allowance: Number(text) }
  const addresses = recipients.split(/[\s,;]+/).filter((address) => address !== '')
  return (
    <FormDialog
      title="Add a spend alert"
      submit="Add"
      isWorking={add.isPending}
      error={add.error}
      onClose={onClose}
      onSubmit={() =>
        add.mutate(
          {
            project_id: project.id,
            ...threshold,
            notification_channel: { type: 'email', recipients: addresses },
          },
          { onSuccess: onClose },
        )
      }
    >
      <FigureField
        label={isUsd ? 'At US dollars a month' : 'At tokens of allowance a month'}
        step={isUsd ? '0.01' : '1'}
        isRequired
        value={text}
        onChange={setText}
      />
      <TextInput
        mt="md"
        label="Recipients"
        description="E-mail addresses, with commas between them."
        required
        value={recipients}
        onChange={({ currentTarget: { value } }) => setRecipients(value)}
      />
    </FormDialog>
  )
}
