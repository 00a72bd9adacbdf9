import type { GatewayConfig, ServedModelConfig } from '@gateway/contracts/config'
import { LARGEST_WINDOW_TOKENS } from './estimate-tokens.ts'

/** The largest of the lane's targets. */
export function windowOf({ pools }: GatewayConfig, { pool: id }: ServedModelConfig): number {
  const targets = pools.find((pool) => pool.id === id)?.targets ?? []
  return Math.max(...targets.map(({ contextWindow = LARGEST_WINDOW_TOKENS }) => contextWindow))
}
