/**
 * The form in which each target takes requests. The router learns it from the target's refusals, and forgets it again.
 */

import type { JobKind } from '@gateway/contracts/job'
import type { TargetDialect } from '@gateway/contracts/vendors'
import { isRequestsOwnFault, type BackendFault } from './core/backend-fault.ts'
import { lessonsOf } from './core/refused-parameters.ts'
import { knownForm, isTaken, withLessons, type FormMemory, type Lesson, type TargetForm } from './core/target-form.ts'
import { wayOf, type Target } from './fleet.ts'
import type { AskedRun } from './handlers/run.ts'

const LESSON_MS = 3_600_000

export function formOf(target: Target, asked: TargetDialect, kind: JobKind, nowMs: number): TargetForm {
  const { known, lessons } = memoryOf(target, asked)
  const form = known.get(kind) ?? know(target, asked, kind)
  return lessons.length === 0 ? form : withLessons(form, lessons, nowMs)
}

/** Kept where the form is, since addresses and names are matched once only. */
function know(target: Target, asked: TargetDialect, kind: JobKind): TargetForm {
  const form = asked === 'chat' ? knownForm(target.backend.vendor, target.model, kind) : []
  memoryOf(target, asked).known.set(kind, form)
  return form
}

function memoryOf({ state }: Target, asked: TargetDialect): FormMemory {
  state.forms ??= new Map()
  const learnt = state.forms.get(asked) ?? { known: new Map(), lessons: [] }
  state.forms.set(asked, learnt)
  return learnt
}

/**
 * Whether the refusal is of the form that the router chose, so that the same target may take the request in another.
 * Every lesson is of a parameter that the request will not carry again, so a request's retries come to an end.
 */
export function learnForm(
  run: AskedRun,
  target: Target,
  form: TargetForm,
  fault: BackendFault,
  nowMs: number,
): boolean {
  const { status, body } = fault
  if (fault.isUnsent || body === undefined || (status !== 400 && status !== 422) || !isRequestsOwnFault(fault))
    return false
  const { kind, stream, defaultMaxTokens } = run.header
  const { dialect, target: asked } = wayOf(target, run.header)
  const question = { kind, stream, body: run.body, model: target.model, maxTokens: defaultMaxTokens, form }
  // Lessons are of the request as it was sent, which a translation has written in other words.
  const { asChat: sentBody = run.body } = dialect.request(question)
  const sent = { kind, stream, body: sentBody, form, capped: defaultMaxTokens !== undefined }
  const lessons = lessonsOf(body, sent).map((refusal): Lesson => ({ ...refusal, untilMs: nowMs + LESSON_MS }))
  if (lessons.length === 0) return false
  const memory = memoryOf(target, asked)
  // Another request may have learnt the same meanwhile; the later lesson holds.
  const others = memory.lessons.filter(
    (old) =>
      old.untilMs > nowMs && !lessons.some((one) => one.parameter === old.parameter && one.effort === old.effort),
  )
  memory.lessons = [...others, ...lessons]
  // Where both names of a client's cap are refused, there is no form that is left.
  return isTaken({ ...sent, form: formOf(target, asked, kind, nowMs) })
}
