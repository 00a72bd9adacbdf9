import { Page } from '../../parts/page.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { projectName } from '../../core/project-name.ts'
import { GroupsCard } from './groups-card.tsx'
import { PeopleCard } from './people-card.tsx'
import { useProject, useRights } from './use-project.ts'

export default function MembersPage() {
  const project = useProject()
  const rights = useRights(project.data)
  return (
    <Page title="Members" lead={project.data && `Those who see ${projectName(project.data)}, and make keys there.`}>
      <QueryView query={project} heights={[220, 180]}>
        {(shown) => (
          <>
            <PeopleCard project={shown} rights={rights} />
            <GroupsCard project={shown} rights={rights} />
          </>
        )}
      </QueryView>
    </Page>
  )
}
