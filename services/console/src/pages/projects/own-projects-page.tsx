import { useState } from 'react'
import { Card } from '../../parts/card.tsx'
import { Page } from '../../parts/page.tsx'
import { SearchField } from '../../parts/search-field.tsx'
import { ProjectTable } from './project-table.tsx'

export default function OwnProjectsPage() {
  const [search, setSearch] = useState('')
  return (
    <Page title="Your projects" lead="Accounts that you share with others, each with its keys and limits.">
      <Card title="Projects" aside={<SearchField label="Search projects" onSearch={setSearch} />}>
        <ProjectTable input={{ mine: 'true', search }} empty="You belong to no such project." />
      </Card>
    </Page>
  )
}
