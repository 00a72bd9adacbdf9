import { Button, Checkbox, SegmentedControl } from '@mantine/core'
import { useState } from 'react'
import { useIsOrganizationOwner } from '../../gateway/administration.ts'
import { Card } from '../../parts/card.tsx'
import { Page } from '../../parts/page.tsx'
import { SearchField } from '../../parts/search-field.tsx'
import { CreateProject } from './create-project.tsx'
import { ProjectTable } from './project-table.tsx'
import classes from './projects-page.module.css'

const ORDERS = [
  { value: 'usage', label: 'Nearest to the limit' },
  { value: 'newest', label: 'Newest' },
] as const

/** The projects of the organization, with the ones that reach their limit first. */
export default function ProjectsPage() {
  const mayCreate = useIsOrganizationOwner()
  const [isCreating, setIsCreating] = useState(false)
  const [search, setSearch] = useState('')
  const [order, setOrder] = useState<'usage' | 'newest'>('usage')
  const [withArchived, setWithArchived] = useState(false)
  const [withPersonal, setWithPersonal] = useState(false)
  return (
    <Page
      title="Projects"
      lead="Accounts that groups share. Spending is this calendar month’s (UTC), some seconds old."
      actions={mayCreate && <Button onClick={() => setIsCreating(true)}>Create project</Button>}
    >
      <Card title="All projects" aside={<SearchField label="Search by name or id" onSearch={setSearch} />}>
        <div className={classes.filters}>
          <SegmentedControl aria-label="Order" size="xs" data={[...ORDERS]} value={order} onChange={setOrder} />
          <Checkbox
            size="xs"
            label="Archived, too"
            checked={withArchived}
            onChange={({ currentTarget: { checked } }) => setWithArchived(checked)}
          />
          <Checkbox
            size="xs"
            label="Personal accounts, too"
            checked={withPersonal}
            onChange={({ currentTarget: { checked } }) => setWithPersonal(checked)}
          />
        </div>
        <ProjectTable
          input={{
            search,
            order,
            include_archived: String(withArchived),
            include_personal: String(withPersonal),
          }}
          empty="There is no such project."
        />
      </Card>
      {isCreating && <CreateProject onClose={() => setIsCreating(false)} />}
    </Page>
  )
}
