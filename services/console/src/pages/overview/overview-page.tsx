import type { PlanRecord } from '@gateway/contracts/plan-api'
import { useState } from 'react'
import { formatCount } from '../../core/format.ts'
import { useKeys, usePlan, useQuota, activeKeyOf } from '../../gateway/queries.ts'
import { Allowance } from '../../parts/allowance.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { Card } from '../../parts/card.tsx'
import { Fact, Facts } from '../../parts/facts.tsx'
import { ArrowIcon } from '../../parts/icons.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { Page } from '../../parts/page.tsx'
import { Snippets } from '../../parts/snippets.tsx'
import { StatusBadge } from '../../parts/status-badge.tsx'
import { CreateKey } from '../keys/create-key.tsx'
import { RevealedKey } from '../keys/revealed-key.tsx'
import classes from './overview-page.module.css'

export default function OverviewPage() {
  const keys = useKeys()
  const active = activeKeyOf(keys.data)
  const [created, setCreated] = useState<string | null>(null)
  return (
    <Page title="Overview" lead="Your plan, your allowance and your first request.">
      <QueryView query={keys} heights={[218, 96, 120]}>
        {({ data }) => (
          <>
            {!active && <CreateKey isFirst={data.length === 0} onCreated={setCreated} />}
            {created && <RevealedKey value={created} onDone={() => setCreated(null)} />}
            {active && <Account hidesSnippets={created !== null} />}
          </>
        )}
      </QueryView>
    </Page>
  )
}

function Account({ hidesSnippets }: { hidesSnippets: boolean }) {
  const quota = useQuota()
  const plan = usePlan()
  return (
    <>
      <Card title="This month’s allowance">
        <QueryView query={quota} heights={[142]}>
          {(record) => <Allowance quota={record} />}
        </QueryView>
      </Card>
      <TryIt />
      <Card title="Your plan">
        <QueryView query={plan} heights={[46]}>
          {(record) => <PlanFacts plan={record} />}
        </QueryView>
      </Card>
      {!hidesSnippets && (
        <Card title="Call it from your code">
          <Snippets />
        </Card>
      )}
    </>
  )
}

function TryIt() {
  return (
    <PageLink to="/playground" className={classes.banner}>
      <span>
        <strong className={classes.title}>Try a model now</strong>
        <span className="quiet">The playground streams through your gateway, with your key.</span>
      </span>
      <ArrowIcon />
    </PageLink>
  )
}

function PlanFacts({ plan }: { plan: PlanRecord }) {
  const included = plan.models.filter((model) => model.included && !model.replacement).length
  return (
    <Facts>
      <Fact name="Plan">
        {plan.plan} {plan.overage && <StatusBadge tone="accent">overage on</StatusBadge>}
      </Fact>
      <Fact name="Models included">{included}</Fact>
      <Fact name="Requests a minute">{formatCount(plan.requests_per_minute)}</Fact>
      <Fact name="Tokens a minute">
        {formatCount(plan.tokens_per_minute)} <span className="quiet">(a burst: up to twice)</span>
      </Fact>
    </Facts>
  )
}
