import { projectName } from '../../core/project-name.ts'
import { Page } from '../../parts/page.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { AlertsCard } from './alerts-card.tsx'
import { ModelsCard } from './models-card.tsx'
import { PlanCard } from './plan-card.tsx'
import { RatesCard } from './rates-card.tsx'
import { SpendLimitCard } from './spend-limit-card.tsx'
import { useProject, useRights } from './use-project.ts'

export default function LimitsPage() {
  const project = useProject()
  const rights = useRights(project.data)
  return (
    <Page title="Limits" lead={project.data && `All requests of ${projectName(project.data)} together.`}>
      <QueryView query={project} heights={[150, 130, 130, 240]}>
        {(shown) => (
          <>
            <PlanCard project={shown} rights={rights} />
            <SpendLimitCard project={shown} rights={rights} />
            <AlertsCard project={shown} rights={rights} />
            <ModelsCard project={shown} rights={rights} />
            <RatesCard project={shown} rights={rights} />
          </>
        )}
      </QueryView>
    </Page>
  )
}
