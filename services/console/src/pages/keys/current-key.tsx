import { Button } from '@mantine/core'
import { useState } from 'react'
import { formatAgo, formatMoment } from '../../core/format.ts'
import type { ListedKey } from '../../gateway/queries.ts'
import { useRevokeKey, useRotateKey, useShowKey } from '../../gateway/change-keys.ts'
import { problemOf } from '../../parts/query-view.tsx'
import { Card } from '../../parts/card.tsx'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { Fact, Facts } from '../../parts/facts.tsx'
import { ProblemNotice } from '../../parts/problem-notice.tsx'
import classes from './current-key.module.css'

export interface CurrentKeyProps {
  listed: ListedKey
  onReveal: (key: string) => void
  onRevoked: () => void
}

export function CurrentKey({ listed, onReveal, onRevoked }: CurrentKeyProps) {
  const show = useShowKey()
  const rotate = useRotateKey()
  const revoke = useRevokeKey()
  const [confirming, setConfirming] = useState<'rotate' | 'revoke' | null>(null)
  const error = show.error ?? rotate.error ?? revoke.error
  const done = { onSettled: () => setConfirming(null) }

  function begin(change: 'rotate' | 'revoke'): void {
    for (const earlier of [show, rotate, revoke]) earlier.reset()
    setConfirming(change)
  }

  return (
    <Card title="Active key">
      <div className={classes.key}>
        <span className={classes.value}>{listed.key}</span>
        <div className={classes.acts}>
          <Button
            variant="default"
            loading={show.isPending}
            onClick={() => show.mutate(listed.key, { onSuccess: onReveal })}
          >
            Show key
          </Button>
          <Button variant="default" onClick={() => begin('rotate')}>
            Rotate
          </Button>
          <Button variant="default" className={classes.danger} onClick={() => begin('revoke')}>
            Revoke
          </Button>
        </div>
      </div>
      <Facts>
        <Fact name="Created">{formatMoment(listed.created_at)}</Fact>
        <Fact name="Last used">{listed.last_used_at ? formatAgo(listed.last_used_at, Date.now()) : 'not yet'}</Fact>
        <Fact name="Plan">{listed.plan}</Fact>
      </Facts>
      {error && <ProblemNotice problem={problemOf(error)} />}
      <ConfirmDialog
        opened={confirming === 'rotate'}
        title="Rotate this key?"
        confirm="Rotate key"
        isWorking={rotate.isPending}
        onCancel={() => setConfirming(null)}
        onConfirm={() => rotate.mutate(listed.key, { ...done, onSuccess: onReveal })}
      >
        You get a new key, and <span className="mono">{listed.key}</span> stops working at once: applications that still
        use it are refused until they have the new one. Responses that are being streamed finish. Plan, allowance and
        usage stay as they are.
      </ConfirmDialog>
      <ConfirmDialog
        opened={confirming === 'revoke'}
        title="Revoke this key?"
        confirm="Revoke key"
        isWorking={revoke.isPending}
        isDangerous
        onCancel={() => setConfirming(null)}
        onConfirm={() => revoke.mutate(listed.key, { ...done, onSuccess: onRevoked })}
      >
        <span className="mono">{listed.key}</span> stops working at once and for good. Applications that use it are
        refused, and responses that are being streamed are cut off. You can create a new key afterwards.
      </ConfirmDialog>
    </Card>
  )
}
