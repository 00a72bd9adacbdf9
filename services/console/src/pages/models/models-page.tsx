import { Skeleton } from '@mantine/core'
import type { TierEntry } from '@gateway/contracts/catalog'
import type { PlannedModel, PlanRecord } from '@gateway/contracts/plan-api'
import { useCatalog, useKeys, usePlan } from '../../gateway/queries.ts'
import { activeKeyOf } from '../../gateway/active-key.ts'
import { Answer } from '../../parts/answer.tsx'
import { Card } from '../../parts/card.tsx'
import { Page } from '../../parts/page.tsx'
import { ModelTable } from './model-table.tsx'
import { TierGrid } from './tier-grid.tsx'

export default function ModelsPage() {
  const keys = useKeys()
  const hasKey = activeKeyOf(keys.data) !== undefined
  const plan = usePlan(hasKey)
  const catalog = useCatalog()
  const loading = <Skeleton height={560} radius="lg" />
  // One after the other: what comes later must not push down what is there.
  return (
    <Page title="Models" lead="The purpose and the price of each model.">
      <Answer query={keys} loading={loading}>
        {() => (
          <Answer query={catalog} loading={loading}>
            {({ data: tiers }) =>
              hasKey ? (
                <Answer query={plan} loading={loading}>
                  {(record) => <ModelsOnPlan tiers={tiers} plan={record} />}
                </Answer>
              ) : (
                <TierGrid tiers={tiers} plan={undefined} />
              )
            }
          </Answer>
        )}
      </Answer>
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
