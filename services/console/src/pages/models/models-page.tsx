import type { TierEntry } from '@gateway/contracts/catalog'
import type { PlannedModel, PlanRecord } from '@gateway/contracts/plan-api'
import { formatPrice } from '../../core/format.ts'
import { useCatalog, useKeys, usePlan, activeKeyOf } from '../../gateway/queries.ts'
import { QueryView } from '../../parts/query-view.tsx'
import { Card } from '../../parts/card.tsx'
import { Page } from '../../parts/page.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { WideTable } from '../../parts/wide-table.tsx'
import { TierGrid } from './tier-grid.tsx'

export default function ModelsPage() {
  const keys = useKeys()
  const hasKey = activeKeyOf(keys.data) !== undefined
  const plan = usePlan()
  const catalog = useCatalog()
  const heights = [560]
  // The queries show one after the other, so that later content pushes nothing down.
  return (
    <Page title="Models" lead="The purpose and the price of each model.">
      <QueryView query={keys} heights={heights}>
        {() => (
          <QueryView query={catalog} heights={heights}>
            {({ data: tiers }) =>
              hasKey ? (
                <QueryView query={plan} heights={heights}>
                  {(record) => <ModelsOnPlan tiers={tiers} plan={record} />}
                </QueryView>
              ) : (
                <TierGrid tiers={tiers} plan={undefined} />
              )
            }
          </QueryView>
        )}
      </QueryView>
    </Page>
  )
}

function ModelsOnPlan({ tiers, plan }: { tiers: TierEntry[]; plan: PlanRecord }) {
  return (
    <>
      <p className="quiet">
        {plan.unit === 'usd'
          ? `On your plan, ${plan.plan}, the price beside a name is for a million tokens.`
          : `On your plan, ${plan.plan}, a token counts as many tokens of allowance as the multiplier says.`}
      </p>
      <TierGrid tiers={tiers} plan={plan} />
      <OtherModels models={plan.models} />
    </>
  )
}

function OtherModels({ models }: { models: PlannedModel[] }) {
  const others = models.filter(({ name, replacement }) => name === null && replacement === null)
  const legacy = models.filter(({ replacement }) => replacement !== null)
  return (
    <>
      {others.length > 0 && (
        <Card title="More models">
          <ModelTable label="More models and their prices" models={others} />
        </Card>
      )}
      {legacy.length > 0 && (
        <Card title="Older names">
          <ModelTable label="Older names and their prices" models={legacy} />
        </Card>
      )}
    </>
  )
}

function ModelTable({ label, models }: { label: string; models: PlannedModel[] }) {
  return (
    <WideTable
      label={label}
      rows={models}
      name={{ title: 'Model', of: ({ id }) => id, className: 'mono' }}
      columns={[
        {
          title: 'Purpose',
          cell: ({ replacement, purpose }) => (replacement ? <Replaced by={replacement} /> : <bdi>{purpose}</bdi>),
        },
        { title: 'Price', cell: ({ price }) => (price ? formatPrice(price) : 'vendor’s rates') },
        {
          title: 'Your plan',
          cell: ({ included }) => (
            <StatusBadge tone={included ? 'good' : 'quiet'}>{included ? 'included' : 'not included'}</StatusBadge>
          ),
        },
      ]}
    />
  )
}

function Replaced({ by }: { by: string }) {
  return (
    <>
      Use <span className="mono">{by}</span> instead
    </>
  )
}
