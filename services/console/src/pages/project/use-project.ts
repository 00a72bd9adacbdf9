import { useMe, useOperation } from '../../gateway/administration.ts'
import { usePageParameter } from '../../page-parameters.ts'

const EVERY_MS = 15_000

/** The project of the address, which an open page follows. */
export function useProject() {
  return useOperation('projectViews.retrieve', { project_id: usePageParameter('project') }, { everyMs: EVERY_MS })
}

export type ShownProject = NonNullable<ReturnType<typeof useProject>['data']>

/** The changes that the person may make in a project: others have no button. */
export interface ProjectRights {
  /** Members, service accounts, alerts and all keys. */
  manages: boolean
  /** Limits, permissions and the end of the project. */
  administers: boolean
  /** Own keys. */
  makesKeys: boolean
}

export function useRights(project: ShownProject | undefined): ProjectRights {
  const role = useMe()?.role ?? null
  if (!project || project.status === 'archived') return { manages: false, administers: false, makesKeys: false }
  const isShared = !project.personal
  return {
    manages: project.your_role === 'owner',
    administers: role === 'owner',
    makesKeys: isShared && project.your_role !== null,
  }
}
