import { Button, Group } from '@mantine/core'
import { useState } from 'react'
import { formatAmount } from '../../core/format.ts'
import { useOperation, useOperationChange } from '../../gateway/administration.ts'
import { GatewayProblem } from '../../gateway/send-request.ts'
import { Card } from '../../parts/card.tsx'
import { FigureField } from '../../parts/figure-field.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { ProblemNotice } from '../../parts/problem-notice.tsx'
import { problemOf } from '../../parts/query-view.tsx'
import type { ProjectRights, ShownProject } from './use-project.ts'

const CENTS_PER_USD = 100

interface SpendLimitCardProps {
  project: ShownProject
  rights: ProjectRights
}

/** The hard limit of a month, in the plan's unit. */
export function SpendLimitCard({ project, rights }: SpendLimitCardProps) {
  const of = { project_id: project.id }
  const limit = useOperation('spendLimit.retrieve', of)
  const remove = useOperationChange('spendLimit.delete')
  const [isChanging, setIsChanging] = useState(false)
  const isNone = limit.error instanceof GatewayProblem && limit.error.problem.code === 'NOT_FOUND'
  const amount = isNone || !limit.data ? null : amountOf(project, limit.data)
  return (
    <Card
      title="Spend limit"
      aside={
        rights.administers && (
          <Group gap={8}>
            <Button variant="default" size="xs" onClick={() => setIsChanging(true)}>
              {amount === null ? 'Set a limit' : 'Change'}
            </Button>
            {amount !== null && (
              <Button variant="default" size="xs" loading={remove.isPending} onClick={() => remove.mutate(of)}>
                Remove
              </Button>
            )}
          </Group>
        )
      }
    >
      {limit.error && !isNone && <ProblemNotice problem={problemOf(limit.error)} />}
      {remove.error && <ProblemNotice problem={problemOf(remove.error)} />}
      <p aria-busy={limit.isPending}>
        {amount === null ? (
          <span className="quiet">{limit.isPending ? ' ' : 'None: the plan’s allowance alone holds.'}</span>
        ) : (
          <>
            <strong>{formatAmount(amount, project.unit)}</strong> a calendar month, exact, also with overage.
            {limit.data?.enforcement.status === 'enforcing' && !isNone && ' It is reached: requests are refused.'}
          </>
        )}
      </p>
      {isChanging && <ChangeSpendLimit project={project} amount={amount} onClose={() => setIsChanging(false)} />}
    </Card>
  )
}

/** Null: the limit is in the other unit, and counts nothing. */
function amountOf(
  { unit }: ShownProject,
  { threshold_amount: cents, allowance }: { threshold_amount: number; allowance?: number | undefined },
): number | null {
  if (unit === 'tokens') return allowance ?? null
  return cents === 0 ? null : cents / CENTS_PER_USD
}

interface ChangeSpendLimitProps {
  project: ShownProject
  amount: number | null
  onClose: () => void
}

function ChangeSpendLimit({ project, amount, onClose }: ChangeSpendLimitProps) {
  const update = useOperationChange('spendLimit.update')
  const [text, setText] = useState(String(amount ?? ''))
  const isUsd = project.unit === 'usd'
  const figure = Number(text)
  const input = isUsd ? { threshold_amount: Math.round(figure * CENTS_PER_USD) } : { allowance: figure }
  return (
    <FormDialog
      title="Limit of a calendar month"
      submit="Save"
      isWorking={update.isPending}
      error={update.error}
      onClose={onClose}
      onSubmit={() => update.mutate({ project_id: project.id, ...input }, { onSuccess: onClose })}
    >
      <FigureField
        label={isUsd ? 'US dollars' : 'Tokens of allowance'}
        step={isUsd ? '0.01' : '1'}
        isRequired
        value={text}
        onChange={setText}
      />
    </FormDialog>
  )
}
