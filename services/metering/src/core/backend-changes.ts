/**
 * Finds changes in the routers' views of the backends. A backend is out while an operator or a router has taken it out, also while it
 * is half-open. It is back when every live router says so.
 */

import type { BackendView, RouterView, ShowRoutersReply } from '@gateway/contracts/routers-api'

export interface BackendChange {
  backend: string
  isOut: boolean
  /** In words: who has taken it out. */
  reasons: string[]
}

/** `out`: the backends that are known to be out. A backend that the config has lost changes nothing. */
export function backendChanges(out: ReadonlySet<string>, { routers, alive }: ShowRoutersReply): BackendChange[] {
  const seen = routers.flatMap((router) => router.backends.map((view) => ({ router, view })))
  const isComplete = routers.length >= alive
  return [...Map.groupBy(seen, ({ view }) => view.backend)].flatMap(([backend, views]): BackendChange[] => {
    const reasons = [...new Set(views.flatMap(({ router, view }) => reasonsOf(router, view)))]
    const isOut = reasons.length > 0
    if (isOut === out.has(backend) || (!isOut && !isComplete)) return []
    return [{ backend, isOut, reasons }]
  })
}

function reasonsOf({ host, pid }: RouterView, { state, control }: BackendView): string[] {
  if (control !== null) return [`an operator has ${control} it`]
  return state === 'ejected' || state === 'on_trial' ? [`the router ${host}:${pid} has ejected it`] : []
}
