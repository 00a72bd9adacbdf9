/**
 * The limits of projects, of their keys and of models, and the values that each may have had at a time.
 */

import type { LimitScope } from '@gateway/contracts/errors'

export interface LimitFact {
  scope: LimitScope
  /** `allowance`: of a month. */
  reason: 'requests' | 'tokens' | 'day' | 'allowance'
  /** The owners of the keys whose requests it counts. */
  owners: readonly string[]
  /** Null: any. */
  model: string | null
  unit: 'tokens' | 'usd'
  values: LimitValue[]
}

export interface LimitValue {
  value: number
  /** Not before its change was sent. */
  fromMs: number
  /** Until the next change was confirmed; null: to the end. */
  toMs: number | null
}

/** The only models that the owners' keys may call. */
export interface ListFact {
  scope: LimitScope
  owners: readonly string[]
  models: readonly string[]
}

export interface LimitLog {
  readonly limits: LimitFact[]
  readonly lists: ListFact[]
}

/** The value may hold from now on; the former ones hold no longer once the change is confirmed. */
export function changeLimit(limit: LimitFact, value: number): { confirm(): void } {
  const former = limit.values.filter(({ toMs }) => toMs === null)
  limit.values.push({ value, fromMs: Date.now(), toMs: null })
  return {
    confirm() {
      for (const one of former) one.toMs = Date.now()
    },
  }
}
