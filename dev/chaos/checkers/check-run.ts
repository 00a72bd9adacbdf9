/**
 * Every promise, held against what happened.
 */

import { judgeResponses } from './answers.ts'
import { judgeRepeating } from './answered-once.ts'
import { judgeDeadKeys } from './dead-keys.ts'
import type { Facts, Verdict } from './facts.ts'
import { findFailures, judgeFailures, type Failure } from './failures.ts'
import { judgeLeavers } from './left-early.ts'
import { judgeLimits } from './limits.ts'
import { judgeMetering } from './metered-once.ts'
import { judgeTokensPerMinute } from './tokens-per-minute.ts'
import { judgeTotals } from './totals.ts'
import { MAX_LAG_SECONDS } from '../plan/places.ts'

export interface CheckResult {
  verdicts: Verdict[]
  failures: Failure[]
  isKept: boolean
}

export function judge(facts: Facts): CheckResult {
  const failures = findFailures(facts)
  const verdicts = [
    ...judgeMetering(facts),
    judgeRepeating(facts),
    judgeLeavers(facts),
    ...judgeTotals(facts),
    ...judgeLimits(facts),
    judgeTokensPerMinute(facts),
    ...judgeResponses(facts),
    judgeDeadKeys(facts),
    judgeFailures(facts, failures),
    judgeFormerPrimaries(facts),
    judgeStrays(facts),
    judgeHarm(facts),
    judgeHealing(facts),
  ]
  return { verdicts, failures, isKept: verdicts.every(({ breaches }) => breaches.length === 0) }
}

/** `min-replicas-max-lag`, rounded up, and Redis' look at it once a second. */
const FORMER_SERVES_MS = (MAX_LAG_SECONDS + 2) * 1_000

function judgeFormerPrimaries({ injected }: Facts): Verdict {
  const served = injected.filter(({ fault }) => fault.kind === 'split' || fault.kind === 'unheard')
  return {
    promise: 'a former primary that hears no replica, or no majority, soon refuses writes',
    checked: served.length,
    breaches: served
      .filter(({ servedMs = Infinity }) => servedMs > FORMER_SERVES_MS)
      .map(({ fault, servedMs }) => ({
        requests: [],
        what: `fault ${fault.number}: it took writes for ${servedMs} ms`,
      })),
  }
}

function judgeStrays({ injected }: Facts): Verdict {
  const unheard = injected.filter(({ fault }) => fault.kind === 'unheard')
  return {
    promise: 'who hears of a new primary leaves the former one, though it still answers',
    checked: unheard.length,
    breaches: unheard
      .filter(({ strayed = Infinity }) => strayed > 0)
      .map(({ fault, strayed }) => ({
        requests: [],
        what: `fault ${fault.number}: the former primary was sent ${strayed} scripts`,
      })),
  }
}

/** Those that no other promise sees: requests that fail are found as every client's are. */
function judgeHarm({ injected }: Facts): Verdict {
  const hostile = injected.filter(({ harm }) => harm !== undefined)
  return {
    promise: 'one client takes no more than its own: no backend, no time, no answer without end',
    checked: hostile.length,
    breaches: hostile.flatMap(({ fault, harm = [] }) =>
      harm.map((what) => ({ requests: [], what: `fault ${fault.number}: ${what}` })),
    ),
  }
}

function judgeHealing({ injected }: Facts): Verdict {
  return {
    promise: 'everything serves again after every fault',
    checked: injected.length,
    breaches: injected
      .filter(({ healedAtMs }) => healedAtMs === null)
      .map(({ fault }) => ({ requests: [], what: `fault ${fault.number} did not heal` })),
  }
}
