import type { HeldKey } from '@gateway/contracts/administration/people'
import { useState } from 'react'
import { useOperation, useOperationChange } from '../../gateway/administration.ts'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { Ending } from '../../parts/ending.tsx'
import { ProblemNotice } from '../../parts/problem-notice.tsx'
import { problemOf } from '../../parts/query-view.tsx'
import { RowButton } from '../../parts/row-button.tsx'

export function RevokeUserKey({ apiKey }: { apiKey: HeldKey }) {
  const [isConfirming, setIsConfirming] = useState(false)
  return (
    <>
      <RowButton act="Revoke" of={apiKey.name} isDangerous onClick={() => setIsConfirming(true)} />
      {isConfirming && <ConfirmRevoke apiKey={apiKey} onClose={() => setIsConfirming(false)} />}
    </>
  )
}

function ConfirmRevoke({ apiKey: { id, name, redacted_value: masked, project }, onClose }: ConfirmRevokeProps) {
  const revoke = useOperationChange('apiKeys.delete')
  const of = { project_id: project.id, api_key_id: id }
  const preview = useOperation('projectViews.preview', of, { isFresh: true })
  return (
    <ConfirmDialog
      opened
      title={`Revoke ${name}?`}
      confirm="Revoke key"
      isDangerous
      isWorking={revoke.isPending}
      isWaiting={preview.isFetching}
      onCancel={onClose}
      onConfirm={() => revoke.mutate(of, { onSuccess: onClose })}
    >
      <Ending preview={preview} />
      <p>
        <span className="mono">{masked}</span> stops working at once and for good.
      </p>
      {revoke.error && <ProblemNotice problem={problemOf(revoke.error)} />}
    </ConfirmDialog>
  )
}

interface ConfirmRevokeProps {
  apiKey: HeldKey
  onClose: () => void
}
