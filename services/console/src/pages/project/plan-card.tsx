import { Button, Group, NativeSelect } from '@mantine/core'
import { useState } from 'react'
import { describeOverage, type OverageSwitch } from '../../core/describe-overage.ts'
import { formatAmount } from '../../core/format.ts'
import { projectName } from '../../core/project-name.ts'
import { useOperation, useOperationChange } from '../../gateway/administration.ts'
import { Card } from '../../parts/card.tsx'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { Ending } from '../../parts/ending.tsx'
import { Fact, Facts } from '../../parts/facts.tsx'
import { FigureField } from '../../parts/figure-field.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { ProblemNotice } from '../../parts/problem-notice.tsx'
import { problemOf } from '../../parts/query-view.tsx'
import type { ProjectRights, ShownProject } from './use-project.ts'

interface PlanCardProps {
  project: ShownProject
  rights: ProjectRights
}

type Open = 'plan' | 'top-up' | 'suspend' | 'overage' | null

/** The plan, overage and top-ups; the organization's owners change them. The project's switch overage where the plan lets them. */
export function PlanCard({ project, rights }: PlanCardProps) {
  const [open, setOpen] = useState<Open>(null)
  const update = useOperationChange('accounts.update')
  const close = () => setOpen(null)
  const { id, plan, overage, status, limit, limit_of: of, unit, overage_switch: effect } = project
  const isSuspended = status === 'suspended'
  const restore = () => update.mutate({ account_id: id, suspended: false })
  return (
    <Card
      title="Plan"
      aside={
        rights.administers ? (
          <Group gap={8}>
            <Button variant="default" size="xs" onClick={() => setOpen('plan')}>
              Change plan
            </Button>
            <Button variant="default" size="xs" onClick={() => setOpen('top-up')}>
              Top up
            </Button>
            {isSuspended ? (
              <Button variant="default" size="xs" loading={update.isPending} onClick={restore}>
                Restore
              </Button>
            ) : (
              <Button variant="default" size="xs" c="var(--bad)" onClick={() => setOpen('suspend')}>
                Suspend
              </Button>
            )}
          </Group>
        ) : (
          effect && (
            <Button variant="default" size="xs" onClick={() => setOpen('overage')}>
              {overage ? 'Switch overage off' : 'Switch overage on'}
            </Button>
          )
        )
      }
    >
      {update.error && <ProblemNotice problem={problemOf(update.error)} />}
      <Facts>
        <Fact name="Plan">{plan}</Fact>
        <Fact name="Overage">{overage ? 'on' : 'off'}</Fact>
        <Fact name="Limit of the month">
          {limit === null ? 'none' : formatAmount(limit, unit)}
          {of === 'spend_limit' && <span className="quiet"> (the spend limit)</span>}
        </Fact>
        <Fact name="Status">{status}</Fact>
      </Facts>
      {open === 'plan' && <ChangePlan project={project} onClose={close} />}
      {open === 'top-up' && <TopUp project={project} onClose={close} />}
      {open === 'suspend' && <Suspend project={project} onClose={close} />}
      {open === 'overage' && effect && <SwitchOverage project={project} effect={effect} onClose={close} />}
    </Card>
  )
}

interface DialogProps {
  project: ShownProject
  onClose: () => void
}

function ChangePlan({ project, onClose }: DialogProps) {
  const plans = useOperation('plans.list', {})
  const update = useOperationChange('accounts.update')
  const [plan, setPlan] = useState(project.plan)
  const [overage, setOverage] = useState(project.overage ? 'on' : 'off')
  const known = (plans.data?.data ?? []).filter((one) => !one.is_guest).map(({ id }) => id)
  const input = { account_id: project.id, plan, overage: overage === 'on' }
  return (
    <FormDialog
      title="Change the plan"
      submit="Save"
      isWorking={update.isPending}
      error={update.error}
      onClose={onClose}
      onSubmit={() => update.mutate(input, { onSuccess: onClose })}
    >
      <NativeSelect
        label="Plan"
        description="It holds from the next request on."
        data={[...new Set([project.plan, ...known])]}
        value={plan}
        onChange={({ currentTarget: { value } }) => setPlan(value)}
      />
      <NativeSelect
        mt="md"
        label="Overage"
        description="On: requests beyond the plan’s allowance are served, too."
        data={['off', 'on']}
        value={overage}
        onChange={({ currentTarget: { value } }) => setOverage(value)}
      />
    </FormDialog>
  )
}

function TopUp({ project, onClose }: DialogProps) {
  const topUp = useOperationChange('accounts.topUp')
  // The same id for each attempt: a repeated one adds nothing more.
  const [id] = useState(() => crypto.randomUUID())
  const [amount, setAmount] = useState('')
  return (
    <FormDialog
      title="Top up this month"
      submit="Add"
      isWorking={topUp.isPending}
      error={topUp.error}
      onClose={onClose}
      onSubmit={() => topUp.mutate({ account_id: project.id, id, amount: Number(amount) }, { onSuccess: onClose })}
    >
      <FigureField
        label={project.unit === 'usd' ? 'US dollars' : 'Tokens of allowance'}
        step={project.unit === 'usd' ? '0.01' : '1'}
        isRequired
        value={amount}
        onChange={setAmount}
      />
    </FormDialog>
  )
}

function SwitchOverage({ project, effect, onClose }: DialogProps & { effect: OverageSwitch }) {
  const update = useOperationChange('projectViews.update')
  const { id } = project
  // The dialog outlives the change for a moment.
  const [overage] = useState(project.overage)
  const title = overage ? 'Switch overage off' : 'Switch overage on'
  return (
    <ConfirmDialog
      opened
      title={`${title}?`}
      confirm={title}
      isWorking={update.isPending}
      onCancel={onClose}
      onConfirm={() => update.mutate({ project_id: id, overage: !overage }, { onSuccess: onClose })}
    >
      <p>{describeOverage(project, effect, overage)}</p>
      {update.error && <ProblemNotice problem={problemOf(update.error)} />}
    </ConfirmDialog>
  )
}

function Suspend({ project, onClose }: DialogProps) {
  const update = useOperationChange('accounts.update')
  const preview = useOperation('projectViews.preview', { project_id: project.id }, { isFresh: true })
  return (
    <ConfirmDialog
      opened
      title={`Suspend ${projectName(project)}?`}
      confirm="Suspend"
      isDangerous
      isWorking={update.isPending}
      isWaiting={preview.isFetching}
      onCancel={onClose}
      onConfirm={() => update.mutate({ account_id: project.id, suspended: true }, { onSuccess: onClose })}
    >
      <Ending preview={preview} verb="suspends" />
      <p>All its keys are refused until it is restored, and work again then.</p>
      {update.error && <ProblemNotice problem={problemOf(update.error)} />}
    </ConfirmDialog>
  )
}
