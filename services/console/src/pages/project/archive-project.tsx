import { projectName } from '../../core/project-name.ts'
import { useOperation, useOperationChange } from '../../gateway/administration.ts'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { Ending } from '../../parts/ending.tsx'
import { ProblemNotice } from '../../parts/problem-notice.tsx'
import { problemOf } from '../../parts/query-view.tsx'
import type { ShownProject } from './use-project.ts'

interface ArchiveProjectProps {
  project: ShownProject
  opened: boolean
  onClose: () => void
}

export function ArchiveProject({ project, opened, onClose }: ArchiveProjectProps) {
  const archive = useOperationChange('projects.archive')
  const ends = { project_id: project.id }
  const preview = useOperation('projectViews.preview', ends, { enabled: opened, isFresh: true })
  return (
    <ConfirmDialog
      opened={opened}
      title={`Archive ${projectName(project)}?`}
      confirm="Archive project"
      isDangerous
      isWorking={archive.isPending}
      isWaiting={preview.isFetching}
      onCancel={onClose}
      onConfirm={() => archive.mutate(ends, { onSuccess: onClose })}
    >
      <Ending preview={preview} />
      <p>
        Its keys stop working at once and for good. Its usage stays in the ledger. An archived project cannot be opened
        again.
      </p>
      {archive.error && <ProblemNotice problem={problemOf(archive.error)} />}
    </ConfirmDialog>
  )
}
