/**
 * The form in which each target is asked for images. The router learns it from the target's refusals.
 */

import type { BackendFault } from './core/backend-fault.ts'
import { formForModel, refusedParameters, type ImageForm } from './core/image-form.ts'
import type { Target } from './fleet.ts'
import type { Run } from './handlers/run.ts'

export function imageFormOf({ state, model }: Target): ImageForm {
  return state.imageForm ?? formForModel(model)
}

/** One for each parameter that a refusal may name. */
const MOST_LESSONS = 2

/** Whether the refusal is of the form that we asked for, so that the same target may take the request in another. */
export function learnForm(run: Run, target: Target, { status, body }: BackendFault): boolean {
  if (run.header.kind !== 'images' || body === undefined || (status !== 400 && status !== 422)) return false
  const refused = refusedParameters(body, run.body)
  if (refused.length === 0) return false
  // Another request may have learnt the same meanwhile.
  target.state.imageForm = imageFormOf(target).filter((name) => !refused.includes(name))
  const { id } = target.backend.config
  return run.attempts.filter(({ backend, model }) => backend === id && model === target.model).length <= MOST_LESSONS
}
