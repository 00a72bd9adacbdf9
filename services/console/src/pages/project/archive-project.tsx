import { projectName } from '../../core/project-name.ts'
import { useOperationChange } from '../../gateway/administration.ts'
import { EndDialog } from '../../parts/end-dialog.tsx'
import type { ShownProject } from './use-project.ts'

interface ArchiveProjectProps {
  project: ShownProject
  opened: boolean
  onClose: () => void
}

export function ArchiveProject({ project, opened, onClose }: ArchiveProjectProps) {
  return (
    <EndDialog
      title={`Archive ${projectName(project)}?`}
      confirm="Archive project"
      of={{ project_id: project.id }}
      change={useOperationChange('projects.archive')}
      opened={opened}
      onClose={onClose}
    >
      <p>
        Its keys stop working at once and for good. Its usage stays in the ledger. An archived project cannot be opened
        again.
      </p>
    </EndDialog>
  )
}
