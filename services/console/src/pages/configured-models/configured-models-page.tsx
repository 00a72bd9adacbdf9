/**
 * The models of the config: their prices, the plans that include each, and the backends that serve it.
 */

import type { ConfiguredModel } from '@gateway/contracts/administration/models'
import type { BackendState } from '@gateway/contracts/administration/ours'
import { useState } from 'react'
import { formatModelPrice, priceSource } from '../../core/model-price.ts'
import { useOperation } from '../../gateway/administration.ts'
import { Card } from '../../parts/card.tsx'
import { Page } from '../../parts/page.tsx'
import { PageLink } from '../../parts/page-link.tsx'
import { QueryView } from '../../parts/query-view.tsx'
import { SearchField } from '../../parts/search-field.tsx'
import { WideTable } from '../../parts/wide-table.tsx'
import classes from './configured-models.module.css'

const EVERY_MS = 10_000

export default function ConfiguredModelsPage() {
  const models = useOperation('models.list', {})
  const backends = useOperation('backends.list', {}, { everyMs: EVERY_MS })
  const [search, setSearch] = useState('')
  const states = new Map(backends.data?.data.map(({ id, state }) => [id, state]))
  return (
    <Page
      title="Models and lanes"
      lead="As this gateway’s config has them. A multiplier is the allowance tokens for each token."
    >
      <QueryView query={models} heights={[520]}>
        {({ data }) => {
          const shown = data.filter((model) => isFound(model, search.toLowerCase()))
          return (
            <Card title="Configured models" aside={<SearchField label="Search models" onSearch={setSearch} />}>
              {shown.length === 0 ? (
                <p className="quiet">No model has such a name.</p>
              ) : (
                <ModelTable models={shown} states={states} />
              )}
            </Card>
          )
        }}
      </QueryView>
    </Page>
  )
}

function isFound({ id, name, aliases, targets }: ConfiguredModel, search: string): boolean {
  const names = [id, name ?? '', ...aliases, ...targets.flatMap(({ backend, model }) => [backend, model])]
  return names.some((text) => text.toLowerCase().includes(search))
}

type States = ReadonlyMap<string, BackendState>

function ModelTable({ models, states }: { models: readonly ConfiguredModel[]; states: States }) {
  return (
    <WideTable
      label="Models, prices and backends"
      rows={models}
      name={{
        title: 'Model',
        of: ({ id }) => id,
        cell: ({ id, name, aliases }) => (
          <>
            <span className="mono">{id}</span>
            {name && (
              <>
                <br />
                <span dir="auto">{name}</span>
              </>
            )}
            {aliases.length > 0 && (
              <>
                <br />
                <span className="quiet">also {aliases.join(', ')}</span>
              </>
            )}
          </>
        ),
      }}
      columns={[
        { title: 'Type', cell: (model) => <ModelType model={model} /> },
        { title: 'Price', cell: (model) => <Price model={model} /> },
        { title: 'Plans', cell: ({ plans }) => (plans.length > 0 ? plans.join(', ') : 'none') },
        { title: 'Goes to', cell: (model) => <Destination model={model} states={states} /> },
      ]}
    />
  )
}

function ModelType({ model: { type, replacement, sunset_at: sunset } }: { model: ConfiguredModel }) {
  return (
    <>
      {type}
      {replacement && (
        <>
          <br />
          <span className="quiet">replaced by {replacement}</span>
        </>
      )}
      {sunset && (
        <>
          <br />
          <span className="quiet">ends {sunset}</span>
        </>
      )}
    </>
  )
}

function Price({ model }: { model: ConfiguredModel }) {
  const source = priceSource(model)
  return (
    <>
      {formatModelPrice(model)}
      {source && (
        <>
          <br />
          <span className="quiet">{source}</span>
        </>
      )}
    </>
  )
}

function Destination({ model, states }: { model: ConfiguredModel; states: States }) {
  const { lanes, targets } = model
  if (lanes.length > 0) return <>one of {lanes.join(', ')}</>
  return (
    <ul className={classes.targets}>
      {targets.map(({ backend, model: name, priority, weight }) => (
        <li key={`${backend}/${name}`}>
          <PageLink to="/organization/backends">{backend}</PageLink> <span className="mono quiet">{name}</span>
          {targets.length > 1 && (
            <span className="quiet">
              , priority {priority}, weight {weight}
            </span>
          )}
          <Trouble state={states.get(backend)} />
        </li>
      ))}
    </ul>
  )
}

function Trouble({ state }: { state: BackendState | undefined }) {
  if (state === undefined || state === 'usable') return null
  return <strong className={classes.trouble}> {state}</strong>
}
