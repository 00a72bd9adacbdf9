import { Button, Group, NativeSelect } from '@mantine/core'
import { useState } from 'react'
import { useOperation, useOperationChange, type CallOutput } from '../../gateway/administration.ts'
import { GatewayProblem } from '../../gateway/send-request.ts'
import { Card } from '../../parts/card.tsx'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { ProblemNotice } from '../../parts/problem-notice.tsx'
import { problemOf } from '../../parts/query-view.tsx'
import { ModelList } from './model-choice.tsx'
import type { ProjectRights, ShownProject } from './use-project.ts'

type Permissions = CallOutput<'modelPermissions.retrieve'>

interface ModelsCardProps {
  project: ShownProject
  rights: ProjectRights
}

/** The models that a project may call, or may not. */
export function ModelsCard({ project, rights }: ModelsCardProps) {
  const of = { project_id: project.id }
  const permissions = useOperation('modelPermissions.retrieve', of)
  const remove = useOperationChange('modelPermissions.delete')
  const [isChanging, setIsChanging] = useState(false)
  const isNone = permissions.error instanceof GatewayProblem && permissions.error.problem.code === 'NOT_FOUND'
  const held = isNone ? undefined : permissions.data
  return (
    <Card
      title="Models"
      aside={
        rights.administers && (
          <Group gap={8}>
            <Button variant="default" size="xs" onClick={() => setIsChanging(true)}>
              {held ? 'Change' : 'Limit the models'}
            </Button>
            {held && (
              <Button variant="default" size="xs" loading={remove.isPending} onClick={() => remove.mutate(of)}>
                Permit every model
              </Button>
            )}
          </Group>
        )
      }
    >
      {permissions.error && !isNone && <ProblemNotice problem={problemOf(permissions.error)} />}
      {remove.error && <ProblemNotice problem={problemOf(remove.error)} />}
      {held ? (
        <p>
          {held.mode === 'allow_list' ? 'Only these: ' : 'All of the plan, but these: '}
          <span className="mono">{held.model_ids.join(', ') || 'none'}</span>
        </p>
      ) : (
        <p className="quiet">{permissions.isPending ? ' ' : 'Every model of the plan.'}</p>
      )}
      {isChanging && <ChangeModels project={project} held={held} onClose={() => setIsChanging(false)} />}
    </Card>
  )
}

interface ChangeModelsProps {
  project: ShownProject
  held: Permissions | undefined
  onClose: () => void
}

function ChangeModels({ project, held, onClose }: ChangeModelsProps) {
  const update = useOperationChange('modelPermissions.update')
  const [mode, setMode] = useState<Permissions['mode']>(held?.mode ?? 'allow_list')
  const [models, setModels] = useState<string[]>(held?.model_ids ?? [])
  return (
    <FormDialog
      title="Limit the models"
      submit="Save"
      isWorking={update.isPending}
      error={update.error}
      onClose={onClose}
      onSubmit={() => update.mutate({ project_id: project.id, mode, model_ids: models }, { onSuccess: onClose })}
    >
      <NativeSelect
        label="The project may call"
        data={[
          { value: 'allow_list', label: 'only these models' },
          { value: 'deny_list', label: 'all of its plan, but these models' },
        ]}
        value={mode}
        onChange={({ currentTarget: { value } }) => setMode(value === 'deny_list' ? 'deny_list' : 'allow_list')}
      />
      <ModelList project={project.id} chosen={models} onChange={setModels} />
    </FormDialog>
  )
}
