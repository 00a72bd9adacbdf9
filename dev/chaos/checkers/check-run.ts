/**
 * Checks every invariant against the facts of a run.
 */

import { checkAudit } from './audit.ts'
import { checkConversations } from './conversations.ts'
import { checkProjectLimits } from './project-limits.ts'
import { checkRefusals } from './refusals.ts'
import { checkResponses } from './responses.ts'
import { checkRepeating } from './repeated-once.ts'
import { checkDeadKeys } from './dead-keys.ts'
import type { Facts, Verdict } from './facts.ts'
import { findFailures, checkFailures, type Failure } from './failures.ts'
import { checkLeavers } from './left-early.ts'
import { checkLimits } from './limits.ts'
import { checkMetering } from './metered-once.ts'
import { checkTokensPerMinute } from './tokens-per-minute.ts'
import { checkTotals } from './totals.ts'
import { MAX_LAG_SECONDS } from '../plan/places.ts'

export interface CheckResult {
  verdicts: Verdict[]
  failures: Failure[]
  isKept: boolean
}

export function checkRun(facts: Facts): CheckResult {
  const failures = findFailures(facts)
  const verdicts = [
    ...checkMetering(facts),
    checkRepeating(facts),
    checkLeavers(facts),
    ...checkTotals(facts),
    ...checkLimits(facts),
    checkTokensPerMinute(facts),
    ...checkProjectLimits(facts),
    checkRefusals(facts),
    ...checkResponses(facts),
    checkConversations(facts),
    checkDeadKeys(facts),
    checkFailures(facts, failures),
    ...checkAudit(facts),
    checkFormerPrimaries(facts),
    checkStrays(facts),
    checkHarm(facts),
    checkHealing(facts),
  ]
  return { verdicts, failures, isKept: verdicts.every(({ violations }) => violations.length === 0) }
}

/** `min-replicas-max-lag`, rounded up, and Redis' look at it once a second. */
const FORMER_SERVES_MS = (MAX_LAG_SECONDS + 2) * 1_000

function checkFormerPrimaries({ injected }: Facts): Verdict {
  const served = injected.filter(({ fault }) => fault.kind === 'split' || fault.kind === 'unheard')
  return {
    invariant: 'a former primary that hears no replica, or no majority, soon refuses writes',
    checked: served.length,
    violations: served
      .filter(({ servedMs = Infinity }) => servedMs > FORMER_SERVES_MS)
      .map(({ fault, servedMs }) => ({
        requests: [],
        what: `fault ${fault.number}: it took writes for ${servedMs} ms`,
      })),
  }
}

function checkStrays({ injected }: Facts): Verdict {
  const unheard = injected.filter(({ fault }) => fault.kind === 'unheard')
  return {
    invariant: 'who hears of a new primary leaves the former one, though it still answers',
    checked: unheard.length,
    violations: unheard
      .filter(({ strayed = Infinity }) => strayed > 0)
      .map(({ fault, strayed }) => ({
        requests: [],
        what: `fault ${fault.number}: the former primary was sent ${strayed} scripts`,
      })),
  }
}

/** Those that no other invariant sees: requests that fail are found as every client's are. */
function checkHarm({ injected }: Facts): Verdict {
  const hostile = injected.filter(({ harm }) => harm !== undefined)
  return {
    invariant: 'one client takes no more than its own: no backend, no time, no answer without end',
    checked: hostile.length,
    violations: hostile.flatMap(({ fault, harm = [] }) =>
      harm.map((what) => ({ requests: [], what: `fault ${fault.number}: ${what}` })),
    ),
  }
}

function checkHealing({ injected }: Facts): Verdict {
  return {
    invariant: 'everything serves again after every fault',
    checked: injected.length,
    violations: injected
      .filter(({ healedAtMs }) => healedAtMs === null)
      .map(({ fault }) => ({ requests: [], what: `fault ${fault.number} did not heal` })),
  }
}
