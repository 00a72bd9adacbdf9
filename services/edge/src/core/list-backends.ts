/**
 * The backends of all routers as one list. Each router has learnt the health from its own traffic, so the list names the worst state.
 * The reasons name the routers that see it so.
 */

import type { BackendState, ListedBackend } from '@gateway/contracts/administration/ours'
import { backendControls, type BackendView, type HealthView, type RouterView } from '@gateway/contracts/routers-api'

const STATES = new Map<string, BackendState>([
  ['healthy', 'usable'],
  ['on_trial', 'half-open'],
  ['cooling', 'cooling'],
  ['ejected', 'ejected'],
  ['drained', 'drained'],
])

/** The worst last. */
const WORSE: readonly BackendState[] = ['usable', 'half-open', 'cooling', 'ejected', 'drained']

interface Seen {
  router: RouterView
  view: BackendView
}

export function listBackends(routers: readonly RouterView[]): ListedBackend[] {
  const seen = routers.flatMap((router) => router.backends.map((view): Seen => ({ router, view })))
  const byId = Map.groupBy(seen, ({ view }) => view.backend)
  return [...byId].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([id, views]) => describe(id, views))
}

function describe(id: string, seen: readonly Seen[]): ListedBackend {
  const word = seen.map(({ view }) => view.control).find((control) => control !== null)
  const control = backendControls.find((known) => known === word) ?? null
  const worst = Math.max(...seen.map(({ view }) => WORSE.indexOf(stateOf(view))))
  return {
    id,
    object: 'backend',
    state: control ?? WORSE[worst]!,
    control,
    reasons: [
      ...(control === null ? [] : [`an operator has ${control} it`]),
      ...seen.flatMap(({ router, view }) => reasonsOf(router, view)),
    ],
    outstanding: sum(seen.map(({ view }) => view.outstanding)),
    slots: sum(seen.map(({ view }) => view.places)),
  }
}

function reasonsOf({ host, pid }: RouterView, view: BackendView): string[] {
  const by = `${host}:${pid}`
  const own = view.control === null && stateOf(view) !== 'usable' ? [`${by}: ${words(view)}`] : []
  return [...own, ...view.models.map((model) => `${by}: ${model.model} is ${words(model)}`)]
}

function words(view: HealthView): string {
  const { untilMs, sinceMs, cause } = view
  return [
    stateOf(view),
    ...(sinceMs === undefined ? [] : [`since ${new Date(sinceMs).toISOString()}`]),
    ...(cause === undefined ? [] : [`(${cause})`]),
    ...(untilMs === null ? [] : [`until ${new Date(untilMs).toISOString()}`]),
  ].join(' ')
}

/** A newer router may have further words; it would not name them where all is well. */
function stateOf({ state }: HealthView): BackendState {
  return STATES.get(state) ?? 'half-open'
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
