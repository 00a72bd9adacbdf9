/**
 * The backends as all routers see them, live: states, reasons, slots in use. Owners take one out and bring it back.
 */

import type { ConfiguredModel } from '@gateway/contracts/administration/models'
import { useOperation } from '../../gateway/administration.ts'
import { Page } from '../../parts/page.tsx'
import { ProblemNotice } from '../../parts/problem-notice.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { BackendCard } from './backend-card.tsx'
import type { Backends } from './backends.ts'

const EVERY_MS = 2_000
const NO_MODELS: readonly ConfiguredModel[] = []

export default function BackendsPage() {
  const backends = useOperation('backends.list', {}, { everyMs: EVERY_MS })
  const models = useOperation('models.list', {})
  return (
    <Page title="Backends" lead="As each router has learnt them from its own traffic. The page follows by itself.">
      <QueryView query={backends} heights={[180, 180]}>
        {(shown) => (
          <>
            <Silent shown={shown} />
            {shown.data.map((backend) => (
              <BackendCard key={backend.id} backend={backend} all={shown} models={models.data?.data ?? NO_MODELS} />
            ))}
          </>
        )}
      </QueryView>
    </Page>
  )
}

function Silent({ shown: { routers, alive } }: { shown: Backends }) {
  if (routers.length >= alive) return null
  return (
    <ProblemNotice
      problem={{
        title: `${alive - routers.length} of ${alive} routers did not respond`,
        advice: 'The figures below are without them. A router that hangs or starts responds again, or leaves the list.',
        code: 'ROUTERS_SILENT',
        mayPass: true,
      }}
    />
  )
}
