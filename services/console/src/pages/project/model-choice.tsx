import { Checkbox, Skeleton } from '@mantine/core'
import { useOperationPages } from '../../gateway/administration.ts'
import classes from './model-choice.module.css'

const MOST_MODELS = 100

interface ModelChoiceProps {
  project: string
  /** Null: every model. */
  chosen: string[] | null
  onChange: (models: string[] | null) => void
}

/** Every model of the project, or some of them. */
export function ModelChoice({ project, chosen, onChange }: ModelChoiceProps) {
  return (
    <div className={classes.choice}>
      <Checkbox
        label="Every model of the project"
        checked={chosen === null}
        onChange={({ currentTarget: { checked } }) => onChange(checked ? null : [])}
      />
      {chosen !== null && <ModelList project={project} chosen={chosen} onChange={onChange} />}
    </div>
  )
}

interface ModelListProps {
  project: string
  chosen: string[]
  onChange: (models: string[]) => void
}

/** The served models, of which the person chooses some. */
export function ModelList({ project, chosen, onChange }: ModelListProps) {
  const { items: served } = useOperationPages('rateLimits.list', { project_id: project, limit: MOST_MODELS })
  if (!served) return <Skeleton height={120} mt="sm" aria-busy="true" />
  // An alias is among the chosen ones alone.
  const models = [...new Set([...served.map(({ model }) => model), ...chosen])]
  return (
    <Checkbox.Group value={chosen} onChange={onChange} label="These models" mt="md">
      <div className={classes.models} tabIndex={0} role="region" aria-label="Models">
        {models.map((model) => (
          <Checkbox key={model} size="xs" value={model} label={model} />
        ))}
      </div>
    </Checkbox.Group>
  )
}
