import type { ConfiguredModel } from '@gateway/contracts/administration/models'
import type { BackendState, ListedBackend } from '@gateway/contracts/administration/ours'
import { Button, Group } from '@mantine/core'
import { useState } from 'react'
import { actorOf } from '../../core/audit-rows.ts'
import type { BackendStep } from '../../core/backends-in-use.ts'
import { formatAgo, formatCount, formatMoment } from '../../core/format.ts'
import { isoOf } from '../../core/unix-time.ts'
import { useIsOrganizationOwner, useOperation } from '../../gateway/administration.ts'
import { Card } from '../../parts/card.tsx'
import { Fact, Facts } from '../../parts/facts.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import type { Backends } from './backends.ts'
import { ControlBackend } from './control-backend.tsx'
import { RouterViews } from './router-views.tsx'

interface BackendCardProps {
  backend: ListedBackend
  all: Backends
  models: readonly ConfiguredModel[]
}

export function BackendCard({ backend, all, models }: BackendCardProps) {
  const mayControl = useIsOrganizationOwner()
  const [step, setStep] = useState<BackendStep | null>(null)
  const { id, state, control, outstanding, slots } = backend
  const served = models.filter(({ targets }) => targets.some((target) => target.backend === id))
  return (
    <Card title={id} aside={<BackendStateBadge state={state} />}>
      <Facts>
        <Fact name="Slots in use">
          {formatCount(outstanding)} <span className="quiet">of {formatCount(slots)}</span>
        </Fact>
        <Fact name="Models">{served.length === 0 ? 'none' : formatCount(served.length)}</Fact>
        {control && (
          <Fact name={control === 'ejected' ? 'Ejected by' : 'Drained by'}>
            <ControlledBy id={id} />
          </Fact>
        )}
      </Facts>
      <RouterViews id={id} routers={all.routers} />
      {mayControl && (
        <Group gap={8} mt="md">
          {control ? (
            <StepButton id={id} label="Restore" onClick={() => setStep('restore')} />
          ) : (
            <StepButton id={id} label="Eject" onClick={() => setStep('eject')} />
          )}
          {control !== 'drained' && <StepButton id={id} label="Drain" onClick={() => setStep('drain')} />}
        </Group>
      )}
      {step && (
        <ControlBackend
          backend={backend}
          backends={all.data}
          models={models}
          step={step}
          onClose={() => setStep(null)}
        />
      )}
    </Card>
  )
}

function StepButton({ id, label, onClick }: { id: string; label: string; onClick: () => void }) {
  return (
    <Button variant="default" size="xs" aria-label={`${label} ${id}`} onClick={onClick}>
      {label}
    </Button>
  )
}

export function BackendStateBadge({ state }: { state: BackendState }) {
  return <StatusBadge tone={state === 'usable' ? 'good' : state === 'ejected' ? 'bad' : 'warn'}>{state}</StatusBadge>
}

/** The audit log knows who took it out, and when. */
function ControlledBy({ id }: { id: string }) {
  const filter = { resource_ids: [id], event_types: ['backend.updated'], limit: 1 }
  const row = useOperation('auditLogs.list', filter).data?.data[0]
  if (!row) return <>an operator</>
  const at = isoOf(row.effective_at)
  return (
    <>
      <PageLink to={`/organization/audit/${row.id}`}>{actorOf(row).name}</PageLink>{' '}
      <span className="quiet" title={formatMoment(at)}>
        {formatAgo(at, Date.now())}
      </span>
    </>
  )
}
