/**
 * The calls of the administration API that the edge itself serves, with the replies of routers, keys and metering. The keys service has
 * decided access before.
 */

import { PROJECT_PREFIX } from '@gateway/contracts/administration/projects'
import { reviewConfig } from '@gateway/config/review-config'
import type { ConfigSource } from '@gateway/config/config-source'
import { internalCalls } from '@gateway/contracts/administration/internal'
import type { Input, OperationsOf, Output } from '@gateway/contracts/administration/operations'
import { snakeCased } from '@gateway/contracts/administration/snake-case'
import type { Repairer } from '@gateway/contracts/reconcile-api'
import { GatewayError } from '@gateway/contracts/errors'
import { listBackends } from '../core/list-backends.ts'
import { listModels } from '../core/list-models.ts'
import { type OverviewContext, showOverview } from '../traffic/show-overview.ts'
import { listRevisions } from '../core/list-revisions.ts'
import type { ConfigViews } from '../rpc/config-views.ts'
import type { OperatorClient } from '../rpc/service-clients.ts'

export interface OwnOperationsContext extends OverviewContext {
  config: Pick<ConfigSource, 'current'>
  operator: OperatorClient
  configViews: Pick<ConfigViews, 'query'>
}

/** An internal call to keys in the caller's name. */
export type CallKeys = (name: keyof typeof internalCalls, input: Record<string, unknown>) => Promise<unknown>

type Handlers = {
  [Name in OperationsOf<'edge'>]: (
    edge: OwnOperationsContext,
    input: Input<Name>,
    callKeys: CallKeys,
    by: Repairer,
  ) => Promise<Output<Name>>
}

export const ownHandlers: Handlers = {
  'backends.list': async ({ operator }) => {
    const shown = await operator.showRouters({})
    return { object: 'list', data: listBackends(shown.routers), ...snakeCased(shown) }
  },

  'models.list': async ({ config }) => ({ object: 'list', data: listModels(config.current) }),

  'config.show': async ({ config, operator, configViews }) => {
    const [routers, { views }] = await Promise.all([
      operator.showRouters({}).catch((error: unknown) => {
        if (error instanceof GatewayError) return null
        throw error
      }),
      configViews.query({}),
    ])
    return { object: 'config', revision: config.current.revision, ...listRevisions(routers, views) }
  },

  'config.check': async (_edge, { yaml }) => {
    const { config, problems, warnings, notices } = reviewConfig(yaml, 'yaml', null)
    const usable = problems.length === 0 && config !== null
    return { object: 'config.check', usable, revision: config?.revision ?? null, problems, warnings, notices }
  },

  'accounts.usage': async ({ operator }, { account_id: account, group_by: groupBy, from, to, session }) => {
    const ofSession = session !== undefined && { session }
    return snakeCased(await operator.usageOfAccount({ account: tagOf(account), from, to, groupBy, ...ofSession }))
  },

  'overview.show': (edge, { window, project }, callKeys) =>
    showOverview(edge, { window, account: project === undefined ? null : tagOf(project) }, (accounts) =>
      namesOf(accounts, callKeys),
    ),

  'accounts.mostUsage': async ({ operator }, { from, to, limit }) =>
    snakeCased(await operator.usageByAccount({ from, to, atMost: limit })),

  reconcile: async ({ operator }, { after, repair }, _callKeys, by) => {
    const page = await operator.reconcileKeys({ after, repair, by })
    const totals = await operator.reconcileTotals({ accounts: page.accounts, plans: page.plans, repair, by })
    return {
      object: 'reconciliation',
      accounts: page.accounts,
      last_id: page.accounts.at(-1) ?? null,
      has_more: !page.isLast,
      drifts: [...page.drifts, ...totals.drifts],
    }
  },
}

async function namesOf(accounts: readonly string[], callKeys: CallKeys): Promise<ReadonlyMap<string, string>> {
  try {
    const { names } = namesReply.parse(await callKeys('projects.names', { project_ids: accounts.map(idOf) }))
    return new Map(Object.entries(names).map(([id, name]) => [tagOf(id), name]))
  } catch (error) {
    // A keys process of a former release knows no such call.
    if (error instanceof GatewayError && error.code === 'NOT_FOUND') return new Map()
    throw error
  }
}

const namesReply = internalCalls['projects.names'].output

function idOf(tag: string): string {
  return `${PROJECT_PREFIX}${tag}`
}

function tagOf(id: string): string {
  return id.startsWith(PROJECT_PREFIX) ? id.slice(PROJECT_PREFIX.length) : id
}
