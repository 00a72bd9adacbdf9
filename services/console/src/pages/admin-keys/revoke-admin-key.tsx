import { useState } from 'react'
import { formatAgo } from '../../core/format.ts'
import { isoOf } from '../../core/unix-time.ts'
import { useOperationChange, type ItemOf } from '../../gateway/administration.ts'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { ProblemNotice } from '../../parts/problem-notice.tsx'
import { problemOf } from '../../parts/query-view.tsx'
import { RowButton } from '../../parts/row-button.tsx'

type AdminKey = ItemOf<'adminKeys.list'>

export function RevokeAdminKey({ adminKey }: { adminKey: AdminKey }) {
  const [isConfirming, setIsConfirming] = useState(false)
  const name = adminKey.name ?? adminKey.id
  return (
    <>
      <RowButton act="Revoke" of={name} isDangerous onClick={() => setIsConfirming(true)} />
      {isConfirming && <ConfirmRevoke adminKey={adminKey} name={name} onClose={() => setIsConfirming(false)} />}
    </>
  )
}

function ConfirmRevoke({ adminKey, name, onClose }: { adminKey: AdminKey; name: string; onClose: () => void }) {
  const revoke = useOperationChange('adminKeys.delete')
  const { id, redacted_value: masked, last_used_at: at } = adminKey
  return (
    <ConfirmDialog
      opened
      title={`Revoke ${name}?`}
      confirm="Revoke key"
      isDangerous
      isWorking={revoke.isPending}
      onCancel={onClose}
      onConfirm={() => revoke.mutate({ key_id: id }, { onSuccess: onClose })}
    >
      <p>
        <strong>
          This ends 1 admin key,{' '}
          {at === null ? 'which nobody has used' : `last used ${formatAgo(isoOf(at), Date.now())}`}.
        </strong>{' '}
        <span className="mono">{masked}</span> stops working at once and for good: programs that use it are refused.
      </p>
      {revoke.error && <ProblemNotice problem={problemOf(revoke.error)} />}
    </ConfirmDialog>
  )
}
