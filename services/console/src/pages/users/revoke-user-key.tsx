import type { HeldKey } from '@gateway/contracts/administration/people'
import { useState } from 'react'
import { useOperationChange } from '../../gateway/administration.ts'
import { EndDialog } from '../../parts/end-dialog.tsx'
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
  const of = { project_id: project.id, api_key_id: id }
  const revoke = useOperationChange('apiKeys.delete')
  return (
    <EndDialog title={`Revoke ${name}?`} confirm="Revoke key" of={of} change={revoke} onClose={onClose}>
      <p>
        <span className="mono">{masked}</span> stops working at once and for good.
      </p>
    </EndDialog>
  )
}

interface ConfirmRevokeProps {
  apiKey: HeldKey
  onClose: () => void
}
