/**
 * The people who have signed in. The identity provider gives roles and groups.
 */

import { useState } from 'react'
import { formatMoment } from '../../core/format.ts'
import { isoOf } from '../../core/unix-time.ts'
import { useOperationPages } from '../../gateway/administration.ts'
import { Card } from '../../parts/card.tsx'
import { Page } from '../../parts/page.tsx'
import { PagedTable } from '../../parts/paged-table.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { SearchField } from '../../parts/search-field.tsx'
import { RoleBadge } from './role-badge.tsx'

const ROWS_OF_A_PAGE = 25

export default function UsersPage() {
  const [search, setSearch] = useState('')
  const list = useOperationPages('users.list', { limit: ROWS_OF_A_PAGE, search })
  return (
    <Page
      title="Users"
      lead="People who have signed in. The identity provider decides names, roles and groups with each sign-in."
    >
      <Card title="All users" aside={<SearchField label="Search by name or e-mail" onSearch={setSearch} />}>
        <PagedTable
          list={list}
          empty="There is no such person."
          label="Users"
          name={{
            title: 'Name',
            of: ({ id, name, email }) => name ?? email ?? id,
            keyOf: ({ id }) => id,
            cell: ({ id, name, email }) => (
              <PageLink to={`/organization/users/${id}`}>
                <span dir="auto">{name ?? email ?? id}</span>
              </PageLink>
            ),
          }}
          columns={[
            { title: 'E-mail', cell: ({ email }) => email ?? '–' },
            { title: 'Role', cell: ({ role }) => <RoleBadge role={role} /> },
            { title: 'First signed in', cell: ({ added_at: at }) => formatMoment(isoOf(at)) },
          ]}
        />
      </Card>
    </Page>
  )
}
