import { Button } from '@mantine/core'
import { useState } from 'react'
import { formatDate } from '../../core/format.ts'
import { plural } from '../../core/describe-ending.ts'
import { projectName } from '../../core/project-name.ts'
import { Card } from '../../parts/card.tsx'
import { Fact, Facts } from '../../parts/facts.tsx'
import { Page } from '../../parts/page.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { Spending } from '../../parts/spending.tsx'
import { ProjectStatus } from '../projects/project-table.tsx'
import { ArchiveProject } from './archive-project.tsx'
import { ProjectUsage } from './project-usage.tsx'
import classes from './project-page.module.css'
import { useProject, useRights, type ShownProject } from './use-project.ts'

export default function ProjectPage() {
  const project = useProject()
  const { administers } = useRights(project.data)
  const [isArchiving, setIsArchiving] = useState(false)
  const mayArchive = administers && !project.data?.personal
  return (
    <Page
      title={project.data ? projectName(project.data) : 'Project'}
      lead={project.data?.id}
      actions={
        mayArchive && (
          <Button variant="default" c="var(--bad)" onClick={() => setIsArchiving(true)}>
            Archive
          </Button>
        )
      }
    >
      <QueryView query={project} heights={[190, 120, 240]}>
        {(shown) => (
          <>
            <SpentThisMonth project={shown} />
            <ProjectFacts project={shown} />
            <ProjectUsage project={shown} />
            <ArchiveProject project={shown} opened={isArchiving} onClose={() => setIsArchiving(false)} />
          </>
        )}
      </QueryView>
    </Page>
  )
}

const LIMIT_WORDS = { plan: 'of the plan, with its top-ups', spend_limit: 'the project’s own spend limit' } as const

function SpentThisMonth({ project }: { project: ShownProject }) {
  const { limit_of: of, overage } = project
  return (
    <Card title="Spent this month">
      <Spending project={project} label="Spent of the limit" />
      <p className={classes.note}>
        {of === null ? 'There is no limit: overage is on.' : `The limit is ${LIMIT_WORDS[of]}.`}
        {of !== null && overage && ' Overage is on, and does not pass it.'}
      </p>
    </Card>
  )
}

function ProjectFacts({ project }: { project: ShownProject }) {
  const { status, plan, keys, users, groups, service_accounts: robots, created_at: created, your_role: role } = project
  return (
    <Card title="About it">
      <Facts>
        <Fact name="Status">
          <ProjectStatus status={status} />
        </Fact>
        <Fact name="Plan">{plan}</Fact>
        <Fact name="Keys">{plural(keys, 'key')}</Fact>
        <Fact name="Members">
          {plural(users, 'person').replace('persons', 'people')}, {plural(groups, 'group')}
        </Fact>
        <Fact name="Service accounts">{robots}</Fact>
        <Fact name="Your role">{role ?? 'none: you see it by your role in the organization'}</Fact>
        <Fact name="Created">{formatDate(new Date(created * 1_000).toISOString())}</Fact>
      </Facts>
    </Card>
  )
}
