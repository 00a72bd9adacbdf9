import type { PlannedModel } from '@gateway/contracts/plan-api'

const FIRST_CHOICE = 'svc-best'

/** The preselected model: Auto where the plan includes it, else the plan's first model for a conversation. */
export function firstModel(models: readonly PlannedModel[]): string {
  const included = models.filter((model) => model.included && (model.type === 'chat' || model.type === 'auto'))
  return (included.find(({ id }) => id === FIRST_CHOICE) ?? included[0])?.id ?? FIRST_CHOICE
}
