/**
 * Chooses the model that serves and bills a request. A model that the client names explicitly always stays itself. Only the
 * generic alias (`type: auto`) is resolved. It becomes one of its lanes that the plan includes and whose pool has every
 * capability that the request needs.
 */

import type {
  AutoModelConfig,
  GatewayConfig,
  ModelConfig,
  PlanConfig,
  ServedModelConfig,
} from '@gateway/contracts/config'
import type { ChatMessage } from '@gateway/contracts/chat'
import type { Capability } from '@gateway/contracts/job'
import { chooseAuto, type CostPreference } from '@gateway/auto/choose-auto'
import { trainCustomLanes, type CustomLanes } from '@gateway/auto/custom-lanes'
import { isRetired, planIncludes } from '@gateway/contracts/models'
import { permitsLane, type Policy } from './policy.ts'

export interface LaneChoice {
  lane: ServedModelConfig
  /** Only where the alias was resolved: why this lane. */
  reason?: string
  /** Auto's confidence in the lane, from 0 to 1. */
  confidence?: number
  /** Present only where the alias was resolved: the lane that Auto wants, also where another lane serves in shadow mode. */
  wantedId?: string
}

/** Null: plan and policy include no lane that can serve the request. */
export function chooseLane(
  config: GatewayConfig,
  plan: PlanConfig,
  model: ModelConfig,
  needs: Capability[],
  messages: ChatMessage[],
  nowMs: number,
  policy: Policy | null = null,
): LaneChoice | null {
  if (model.type !== 'auto') return { lane: model }
  const lanes = usableLanes(config, plan, model, needs).filter(
    (lane) => !isRetired(lane, nowMs) && (policy === null || permitsLane(policy, lane)),
  )
  if (lanes.length === 0) return null
  const { laneId: wantedId, ...why } = chooseAuto(
    messages,
    lanes.map((lane) => lane.id),
    { costPreference: costPreferenceOf(plan, lanes), customLanes: customLanesOf(model) },
  )
  if (model.shadow !== undefined) {
    const serving = lanes.find(({ id }) => id === model.shadow) ?? lanes[0]
    return serving ? { lane: serving, reason: SHADOW_REASON, wantedId } : null
  }
  const lane = lanes.find((candidate) => candidate.id === wantedId)
  return lane ? { lane, ...why, wantedId } : null
}

const SHADOW_REASON = 'shadow'

function costPreferenceOf({ autoTakes }: PlanConfig, lanes: readonly ServedModelConfig[]): CostPreference | undefined {
  if (!autoTakes) return undefined
  return { towards: autoTakes, multiplierOf: (id) => lanes.find((lane) => lane.id === id)?.multiplier ?? 1 }
}

/** Each configuration trains its custom lanes once. */
const trained = new WeakMap<AutoModelConfig, CustomLanes>()

function customLanesOf(model: AutoModelConfig): CustomLanes | undefined {
  if (!model.own) return undefined
  const known = trained.get(model) ?? trainCustomLanes(model.own)
  trained.set(model, known)
  return known
}

function usableLanes(
  config: GatewayConfig,
  plan: PlanConfig,
  model: AutoModelConfig,
  needs: Capability[],
): ServedModelConfig[] {
  return model.lanes.flatMap((id) => {
    const lane = config.models.find((candidate) => candidate.id === id)
    if (!lane || lane.type === 'auto' || !planIncludes(plan, lane)) return []
    return poolCan(config, lane.pool, needs) ? [lane] : []
  })
}

function poolCan(config: GatewayConfig, poolId: string, needs: Capability[]): boolean {
  const pool = config.pools.find((candidate) => candidate.id === poolId)
  return Boolean(
    pool?.targets.some((target) => {
      const backend = config.backends.find((candidate) => candidate.id === target.backend)
      return backend !== undefined && needs.every((need) => backend.capabilities.includes(need))
    }),
  )
}
