/**
 * The models and vendors' tools that a project and its key permit. The edge decides by it before it calls admission, as it
 * does by the plan.
 *
 * A list names models by id or alias. Auto is one model of the list; on an allow list it brings all its lanes, and a deny
 * list takes lanes away from it.
 */

import type { PolicyFacts } from '@gateway/admission/port'
import { keyPolicy, projectPolicy } from '@gateway/contracts/administration/policy'
import type { ModelConfig } from '@gateway/contracts/config'
import type { HostedCalls, HostedTool } from '@gateway/contracts/hosted-tools'

export interface Policy {
  /** For the store, which compares it with its own. */
  readonly hint: string
  /** Null: no list. */
  readonly allowed: ReadonlySet<string> | null
  readonly denied: ReadonlySet<string> | null
  readonly hostedTools: readonly string[]
  /** The key's own list; null: every model of the project. */
  readonly keyAllowed: ReadonlySet<string> | null
  /** The member whose key it is; null: a service account's. */
  readonly userId: string | null
}

/** Throws where the text is not a policy. */
export function readPolicy({ hint, project, key }: PolicyFacts): Policy {
  const { models, hostedTools } = projectPolicy.parse(JSON.parse(project))
  const { models: ofKey, userId } = keyPolicy.parse(JSON.parse(key))
  const ids = models === null ? null : new Set(models.ids)
  return {
    hint,
    allowed: models?.mode === 'allow_list' ? ids : null,
    denied: models?.mode === 'deny_list' ? ids : null,
    hostedTools,
    keyAllowed: ofKey === null ? null : new Set(ofKey),
    userId,
  }
}

/** The owner of the list that refuses the model; null: both permit it. */
export function refusalOf(
  { allowed, denied, keyAllowed }: Policy,
  model: Pick<ModelConfig, 'id' | 'aliases'>,
): 'project' | 'key' | null {
  if (allowed !== null && !names(allowed, model)) return 'project'
  if (denied !== null && names(denied, model)) return 'project'
  return keyAllowed !== null && !names(keyAllowed, model) ? 'key' : null
}

/** Auto may choose the lane. */
export function permitsLane({ denied }: Policy, lane: Pick<ModelConfig, 'id' | 'aliases'>): boolean {
  return denied === null || !names(denied, lane)
}

/** The calls of those tools that requests of the project may name. */
export function permittedCalls({ hostedTools }: Policy, { calls, total }: HostedCalls): HostedCalls {
  const permitted = Object.entries(calls).filter(([tool]) => hostedTools.includes(tool))
  const sum = permitted.reduce((all, [, count]) => all + count, 0)
  return { calls: Object.fromEntries(permitted) as Partial<Record<HostedTool, number>>, total: Math.min(total, sum) }
}

function names(ids: ReadonlySet<string>, { id, aliases }: Pick<ModelConfig, 'id' | 'aliases'>): boolean {
  return ids.has(id) || aliases.some((alias) => ids.has(alias))
}
