/** The price of a configured model, for those who run the gateway. */

import type { ConfiguredModel } from '@gateway/contracts/administration/models'
import { formatMultiplier, formatUsd } from './format.ts'

export function formatModelPrice({ type, multiplier, rates }: Pick<ConfiguredModel, 'type' | 'multiplier' | 'rates'>) {
  if (type === 'auto') return 'as the chosen lane'
  if (rates === null) return multiplier === null ? 'no price: it is refused' : formatMultiplier(multiplier)
  const { input_usd_per_million: input, output_usd_per_million: output } = rates
  return `${formatUsd(input)} in, ${formatUsd(output)} out / M`
}

/** `a list, 2026-01-01`; null where the config says nothing. */
export function priceSource({ rates }: Pick<ConfiguredModel, 'rates'>): string | null {
  const parts = [rates?.source, rates?.as_of].filter((part) => typeof part === 'string')
  return parts.length > 0 ? parts.join(', ') : null
}
