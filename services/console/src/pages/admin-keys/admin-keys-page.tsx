/**
 * The keys of administrators. The gateway shows a value once, to the person who creates it.
 */

import { Button, VisuallyHidden } from '@mantine/core'
import { useState } from 'react'
import { formatAgo, formatMoment } from '../../core/format.ts'
import { isoOf } from '../../core/unix-time.ts'
import { useIsOrganizationOwner, useOperationPages, type ItemOf } from '../../gateway/administration.ts'
import { Card } from '../../parts/card.tsx'
import { Page } from '../../parts/page.tsx'
import { PagedTable } from '../../parts/paged-table.tsx'
import { SecretValue } from '../../parts/secret-value.tsx'
import { CreateAdminKey } from './create-admin-key.tsx'
import { RevokeAdminKey } from './revoke-admin-key.tsx'

type AdminKey = ItemOf<'adminKeys.list'>

const ROWS_OF_A_PAGE = 25

interface NewKey {
  name: string
  value: string
}

export default function AdminKeysPage() {
  const mayChange = useIsOrganizationOwner()
  const [isCreating, setIsCreating] = useState(false)
  const [made, setMade] = useState<NewKey | null>(null)
  return (
    <Page
      title="Admin keys"
      lead="They make every call of the administration API, as an owner does, and open no inference."
      actions={mayChange && <Button onClick={() => setIsCreating(true)}>Create admin key</Button>}
    >
      {made && <ShownOnce made={made} onDone={() => setMade(null)} />}
      <Card title="Live admin keys">
        <AdminKeyTable mayChange={mayChange} />
      </Card>
      {isCreating && <CreateAdminKey onClose={() => setIsCreating(false)} onMade={setMade} />}
    </Page>
  )
}

function ShownOnce({ made: { name, value }, onDone }: { made: NewKey; onDone: () => void }) {
  return (
    <Card
      title={`The value of ${name}`}
      aside={
        <Button variant="default" size="xs" onClick={onDone}>
          I have stored it
        </Button>
      }
    >
      <SecretValue value={value} />
      <p className="quiet">Copy it now: nobody can show it again. Whoever has it administers this gateway.</p>
    </Card>
  )
}

function AdminKeyTable({ mayChange }: { mayChange: boolean }) {
  const list = useOperationPages('adminKeys.list', { limit: ROWS_OF_A_PAGE })
  return (
    <PagedTable
      list={list}
      empty="There is no admin key."
      label="Admin keys, the oldest first"
      name={{
        title: 'Name',
        of: nameOf,
        keyOf: ({ id }) => id,
        cell: (key) => (
          <>
            <span dir="auto">{nameOf(key)}</span>
            <br />
            <span className="mono quiet">{key.redacted_value}</span>
          </>
        ),
      }}
      columns={[
        { title: 'Created by', cell: ({ owner }) => <span dir="auto">{owner.name}</span> },
        { title: 'Created', cell: ({ created_at: at }) => formatMoment(isoOf(at)) },
        { title: 'Expires', cell: ({ expires_at: at }) => (at === null ? 'never' : formatMoment(isoOf(at))) },
        {
          title: 'Last used',
          cell: ({ last_used_at: at }) => (at === null ? 'never' : formatAgo(isoOf(at), Date.now())),
        },
        ...(mayChange
          ? [
              {
                title: <VisuallyHidden>Changes</VisuallyHidden>,
                cell: (key: AdminKey) => <RevokeAdminKey adminKey={key} />,
                isFigure: true,
              },
            ]
          : []),
      ]}
    />
  )
}

function nameOf({ name, id }: AdminKey): string {
  return name ?? id
}
