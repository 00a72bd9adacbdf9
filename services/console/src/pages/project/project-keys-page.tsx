import { Button } from '@mantine/core'
import { useState } from 'react'
import { projectName } from '../../core/project-name.ts'
import { Card } from '../../parts/card.tsx'
import { Page } from '../../parts/page.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { SearchField } from '../../parts/search-field.tsx'
import { EditKey, type KeyToEdit } from './edit-key.tsx'
import { ProjectKeyTable } from './project-key-table.tsx'
import { ServiceAccounts } from './service-accounts.tsx'
import { ShownOnce, type NewValue } from './shown-once.tsx'
import { useProject, useRights } from './use-project.ts'

export default function ProjectKeysPage() {
  const project = useProject()
  const rights = useRights(project.data)
  const [editing, setEditing] = useState<KeyToEdit | null>(null)
  const [made, setMade] = useState<NewValue | null>(null)
  const [search, setSearch] = useState('')
  return (
    <Page
      title="Keys"
      lead={project.data && `Named keys of ${projectName(project.data)}, each with its own limits.`}
      actions={rights.makesKeys && <Button onClick={() => setEditing('new')}>Create key</Button>}
    >
      {made && <ShownOnce made={made} onDone={() => setMade(null)} />}
      <QueryView query={project} heights={[300]}>
        {(shown) => (
          <>
            <Card title="Live keys" aside={<SearchField label="Search keys" onSearch={setSearch} />}>
              <ProjectKeyTable
                project={shown}
                rights={rights}
                search={search}
                onEdit={setEditing}
                onRotated={setMade}
              />
            </Card>
            {!shown.personal && <ServiceAccounts project={shown} rights={rights} onMade={setMade} />}
            {editing && <EditKey project={shown} editing={editing} onClose={() => setEditing(null)} onMade={setMade} />}
          </>
        )}
      </QueryView>
    </Page>
  )
}
