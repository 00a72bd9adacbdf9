import { describeCause } from '../../core/backends-in-use.ts'
import { formatAgo, formatCount } from '../../core/format.ts'
import { WideTable } from '../../parts/wide-table.tsx'
import type { Backends } from './backends.ts'
import classes from './backends.module.css'

type RouterView = Backends['routers'][number]
type View = RouterView['backends'][number]
type Health = Pick<View, 'state' | 'until_ms' | 'since_ms' | 'cause'>

interface Row {
  router: RouterView
  view: View
}

/** One backend as each router sees it. */
export function RouterViews({ id, routers }: { id: string; routers: Backends['routers'] }) {
  const rows = routers.flatMap((router): Row[] => {
    const view = router.backends.find(({ backend }) => backend === id)
    return view ? [{ router, view }] : []
  })
  return (
    <div className={classes.routers}>
      <WideTable
        label={`${id}, by router`}
        rows={rows}
        name={{
          title: 'Router',
          of: ({ router }) => `${router.host}:${router.pid}${router.draining ? ' (stopping)' : ''}`,
          keyOf: ({ router }) => router.router,
          className: 'mono',
        }}
        columns={[
          { title: 'State', cell: ({ view }) => (view.control ? `an operator has ${view.control} it` : words(view)) },
          {
            title: 'Slots in use',
            cell: ({ view }) => `${formatCount(view.outstanding)} of ${formatCount(view.places)}`,
            isFigure: true,
          },
          {
            title: 'Models that are not well',
            cell: ({ view: { models } }) =>
              models.length === 0 ? 'none' : models.map((model) => `${model.model}: ${words(model)}`).join('; '),
          },
        ]}
      />
    </div>
  )
}

const STATES = new Map([
  ['healthy', 'usable'],
  ['on_trial', 'half-open'],
])

function words({ state, until_ms: untilMs, since_ms: sinceMs, cause }: Health): string {
  const nowMs = Date.now()
  return [
    STATES.get(state) ?? state,
    ...(sinceMs === undefined ? [] : [`since ${formatAgo(new Date(sinceMs).toISOString(), nowMs)}`]),
    ...(cause === undefined ? [] : [describeCause(cause)]),
    ...(untilMs === null ? [] : [`tried again in ${Math.max(1, Math.ceil((untilMs - nowMs) / 1_000))} s`]),
  ].join(', ')
}
