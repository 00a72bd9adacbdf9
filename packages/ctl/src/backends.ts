/**
 * `backends`: how each backend is, as each live router has learnt it from its own traffic.
 */

import type { BackendView, HealthView, RouterView, ShowRoutersReply } from '@gateway/contracts/routers-api'
import { renderTable, type CommandResult } from './command-result.ts'
import type { Gateway } from './gateway.ts'

export async function showBackends(gateway: Gateway): Promise<CommandResult> {
  const reply = await gateway.request('routersShow', {})
  return { data: reply, text: describe(reply, Date.now()) }
}

const CONTROLS = {
  eject: 'is out until it is restored; a request reaches it as the last resort alone',
  drain: 'gets no new request until it is restored; open ones finish',
  restore: 'is in use again',
} as const
export type Control = keyof typeof CONTROLS

export async function controlBackend(gateway: Gateway, control: Control, id: string): Promise<CommandResult> {
  const data = await gateway.administer(`backends.${control}`, { backend_id: id })
  return { data, text: `${id} ${CONTROLS[control]}` }
}

interface Row {
  router: RouterView
  backend: BackendView
}

function describe({ routers, alive }: ShowRoutersReply, nowMs: number): string {
  const rows = routers.flatMap((router) => router.backends.map((backend): Row => ({ router, backend })))
  const byBackend = rows.toSorted((a, b) => compare(a.backend.backend, b.backend.backend))
  const table = renderTable<Row>(
    [
      { title: 'backend', cell: ({ backend }) => backend.backend },
      { title: 'router', cell: ({ router }) => `${router.host}:${router.pid}${router.draining ? ' (draining)' : ''}` },
      { title: 'health', cell: ({ backend }) => describeHealth(backend, nowMs) },
      { title: 'outstanding', cell: ({ backend }) => backend.outstanding },
      { title: 'places', cell: ({ backend }) => backend.places },
      { title: 'models that are not well', cell: ({ backend }) => describeModels(backend, nowMs) },
    ],
    byBackend,
  )
  const revisions = new Set(routers.map(({ configRevision }) => configRevision))
  const notes = [
    ...(routers.length < alive ? [`${alive - routers.length} of ${alive} routers did not respond`] : []),
    ...(revisions.size > 1 ? [`routers run different configurations: ${[...revisions].join(', ')}`] : []),
  ]
  return [table, ...notes].join('\n')
}

function describeModels({ models }: BackendView, nowMs: number): string {
  return models.map(({ model, ...health }) => `${model} ${describeHealth(health, nowMs)}`).join(', ')
}

function describeHealth({ state, untilMs }: HealthView, nowMs: number): string {
  const words = state.replace('_', ' ')
  if (untilMs === null) return words
  const leftS = Math.max(0, Math.ceil((untilMs - nowMs) / 1_000))
  return `${words} until ${new Date(untilMs).toISOString().slice(11, 19)} (${leftS} s)`
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
