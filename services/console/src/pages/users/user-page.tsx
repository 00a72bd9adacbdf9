/**
 * One person: the role, the projects and the live keys. An owner of the organization revokes a leaked key here.
 */

import { VisuallyHidden } from '@mantine/core'
import { formatAgo, formatMoment } from '../../core/format.ts'
import { projectName } from '../../core/project-name.ts'
import { isoOf } from '../../core/unix-time.ts'
import {
  useIsOrganizationOwner,
  useOperation,
  useOperationPages,
  type CallOutput,
} from '../../gateway/administration.ts'
import { Card } from '../../parts/card.tsx'
import { Fact, Facts } from '../../parts/facts.tsx'
import { Page } from '../../parts/page.tsx'
import { PagedTable } from '../../parts/paged-table.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { usePageParameter } from '../../page-parameters.ts'
import { RevokeUserKey } from './revoke-user-key.tsx'
import { RoleBadge } from './role-badge.tsx'

export default function UserPage() {
  const id = usePageParameter('user')
  const user = useOperation('users.retrieve', { user_id: id })
  return (
    <Page title={user.data ? (user.data.name ?? user.data.email ?? id) : 'User'} lead={user.data?.email}>
      <QueryView query={user} heights={[120, 200, 200]}>
        {(shown) => (
          <>
            <About user={shown} />
            <UserProjects id={shown.id} />
            <UserKeys id={shown.id} />
          </>
        )}
      </QueryView>
    </Page>
  )
}

function About({ user: { id, role, added_at: addedAt } }: { user: CallOutput<'users.retrieve'> }) {
  return (
    <Card>
      <Facts>
        <Fact name="Role in the organization">
          <RoleBadge role={role} />
        </Fact>
        <Fact name="First signed in">{formatMoment(isoOf(addedAt))}</Fact>
        <Fact name="Id">
          <span className="mono">{id}</span>
        </Fact>
        <Fact name="Audit">
          <PageLink to={`/organization/audit?actor=${encodeURIComponent(id)}`}>What this person changed</PageLink>
        </Fact>
      </Facts>
    </Card>
  )
}

function UserProjects({ id }: { id: string }) {
  const list = useOperationPages('userProjects.list', { user_id: id })
  return (
    <Card title="Projects">
      <PagedTable
        list={list}
        empty="This person belongs to no project."
        label="Projects of the person"
        name={{
          title: 'Project',
          of: projectName,
          keyOf: (project) => project.id,
          cell: (project) => <PageLink to={`/projects/${project.id}`}>{projectName(project)}</PageLink>,
        }}
        columns={[
          { title: 'Role', cell: ({ role }) => role },
          { title: 'Kind', cell: ({ personal }) => (personal ? 'the own account' : 'shared') },
        ]}
      />
    </Card>
  )
}

function UserKeys({ id }: { id: string }) {
  const mayRevoke = useIsOrganizationOwner()
  const list = useOperationPages('userKeys.list', { user_id: id })
  return (
    <Card title="Live keys">
      <PagedTable
        list={list}
        empty="This person has no live key."
        label="Live keys of the person"
        name={{
          title: 'Name',
          of: ({ name }) => name,
          keyOf: (key) => key.id,
          cell: ({ name, redacted_value: masked }) => (
            <>
              <span dir="auto">{name}</span>
              <br />
              <span className="mono quiet">{masked}</span>
            </>
          ),
        }}
        columns={[
          {
            title: 'Project',
            cell: ({ project }) => <PageLink to={`/projects/${project.id}`}>{projectName(project)}</PageLink>,
          },
          { title: 'Created', cell: ({ created_at: at }) => formatMoment(isoOf(at)) },
          { title: 'Expires', cell: ({ expires_at: at }) => (at === null ? 'never' : formatMoment(isoOf(at))) },
          {
            title: 'Last used',
            cell: ({ last_used_at: at }) => (at === null ? 'never' : formatAgo(isoOf(at), Date.now())),
          },
          ...(mayRevoke
            ? [
                {
                  title: <VisuallyHidden>Changes</VisuallyHidden>,
                  cell: (key: CallOutput<'userKeys.list'>['data'][number]) => <RevokeUserKey apiKey={key} />,
                  isFigure: true,
                },
              ]
            : []),
        ]}
      />
    </Card>
  )
}
