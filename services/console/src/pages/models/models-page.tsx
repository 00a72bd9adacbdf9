import { Skeleton } from '@mantine/core'
import type { PlannedModel, PlanRecord } from '@gateway/contracts/plan-api'
import { useCatalog, useKeys, usePlan } from '../../gateway/queries.ts'
import { activeKeyOf } from '../../gateway/use-active-key.ts'
import { Answer } from '../../parts/answer.tsx'
import { Card } from '../../parts/card.tsx'
import { Page } from '../../parts/page.tsx'
import { ModelTable } from './model-table.tsx'
import { TierGrid } from './tier-grid.tsx'

export default function ModelsPage() {
  const active = activeKeyOf(useKeys().data)
  const plan = usePlan(active !== undefined)
  const catalog = useCatalog()
  return (
    <Page title="Models" lead={<Lead plan={plan.data} />}>
      <Answer query={catalog} loading={<Skeleton height={420} radius="lg" />}>
        {({ data }) => <TierGrid tiers={data} plan={plan.data} />}
      </Answer>
      {active && (
        <Answer query={plan} loading={<Skeleton height={300} radius="lg" />}>
          {({ models }) => <OtherModels models={models} />}
        </Answer>
      )}
    </Page>
  )
}

function Lead({ plan }: { plan: PlanRecord | undefined }) {
  if (plan?.unit === 'usd') return `What a million tokens of each model cost on your plan, ${plan.plan}.`
  const counted = 'A token of a model counts as many tokens of allowance as its multiplier says.'
  return plan ? `${counted} Your plan is ${plan.plan}.` : counted
}

function OtherModels({ models }: { models: PlannedModel[] }) {
  const others = models.filter(({ name, replacement }) => name === null && replacement === null)
  const legacy = models.filter(({ replacement }) => replacement !== null)
  return (
    <>
      {others.length > 0 && (
        <Card title="More models">
          <ModelTable label="More models" models={others} />
        </Card>
      )}
      {legacy.length > 0 && (
        <Card title="Older names">
          <ModelTable label="Older names" models={legacy} />
        </Card>
      )}
    </>
  )
}
