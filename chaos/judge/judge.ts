/**
 * Every promise, held against what happened.
 */

import { judgeAnswers } from './answers.ts'
import { judgeRepeating } from './answered-once.ts'
import { judgeDeadKeys } from './dead-keys.ts'
import type { Facts, Verdict } from './facts.ts'
import { findFailures, judgeFailures, type Failure } from './failures.ts'
import { judgeLeavers } from './left-early.ts'
import { judgeLimits } from './limits.ts'
import { judgeMetering } from './metered-once.ts'
import { judgeTokensPerMinute } from './tokens-per-minute.ts'
import { judgeTotals } from './totals.ts'

export interface Judgement {
  verdicts: Verdict[]
  failures: Failure[]
  isKept: boolean
}

export function judge(facts: Facts): Judgement {
  const failures = findFailures(facts)
  const verdicts = [
    ...judgeMetering(facts),
    judgeRepeating(facts),
    judgeLeavers(facts),
    ...judgeTotals(facts),
    ...judgeLimits(facts),
    judgeTokensPerMinute(facts),
    ...judgeAnswers(facts),
    judgeDeadKeys(facts),
    judgeFailures(facts, failures),
    judgeHealing(facts),
  ]
  return { verdicts, failures, isKept: verdicts.every(({ breaches }) => breaches.length === 0) }
}

function judgeHealing({ struck }: Facts): Verdict {
  return {
    promise: 'everything serves again after every fault',
    checked: struck.length,
    breaches: struck
      .filter(({ healedAtMs }) => healedAtMs === null)
      .map(({ fault }) => ({ requests: [], what: `fault ${fault.number} did not heal` })),
  }
}
