/**
 * Requests that would fit wait in a line while running ones hold the rest of their allowance. Each running request reserves the most that it
 * can cost, and mostly gives back much of it when it ends.
 *
 * Admission alone decides, so waiting passes no limit. The first in line calls it again after each end of a request of the account.
 * Ends on other edges are found by calls every {@link AGAIN_MS}. A refusal stands when its own wait is over, and at once where a line
 * is full.
 */

import type { AdmitDecision } from '@gateway/admission/port'
import type { Caller } from '../auth/authenticate.ts'

const AGAIN_MS = 250
/** A request that waits keeps its body in memory. */
const MOST_OF_ACCOUNT = 100
const MOST_OF_ALL = 1_000

export type Decision = Extract<AdmitDecision, { kind: 'allow' | 'deny' }>
type Pending = Extract<Decision, { retryAfterMs: number }>
type WaitingCaller = Pick<Caller, 'account' | 'keyHash'>

export interface AllowanceLines {
  /** Resolves with the first decision of `again` that is another one than to wait, or with the last refusal. */
  wait(caller: WaitingCaller, refusal: Pending, again: () => Promise<Decision>): Promise<Decision>
  /** The store knows of an end of a request of this account. */
  ended(account: string): void
}

interface Waiting {
  keyHash: string
  untilMs: number
  refusal: Pending
  again(): Promise<Decision>
  resolve(decision: Decision): void
  reject(error: unknown): void
}

interface Line {
  waiting: Set<Waiting>
  isCalling: boolean
  /** A request has ended since the last calls began. */
  hasEnded: boolean
  timer: NodeJS.Timeout
}

/** Only running requests stand in the way. */
export function isPending(decision: AdmitDecision): decision is Pending {
  return decision.kind === 'deny' && decision.reason === 'pending'
}

export function openAllowanceLines(): AllowanceLines {
  const lines = new Map<string, Line>()
  let count = 0

  function lineOf(account: string): Line {
    const known = lines.get(account)
    if (known) return known
    const timer = setInterval(() => void callAgain(account, line), AGAIN_MS)
    const line: Line = { waiting: new Set(), isCalling: false, hasEnded: false, timer }
    lines.set(account, line)
    return line
  }

  function leave(account: string, line: Line, one: Waiting): void {
    line.waiting.delete(one)
    count--
    if (line.waiting.size > 0) return
    clearInterval(line.timer)
    lines.delete(account)
  }

  async function callAgain(account: string, line: Line): Promise<void> {
    line.hasEnded = true
    if (line.isCalling) return
    line.isCalling = true
    while (line.hasEnded && line.waiting.size > 0) {
      line.hasEnded = false
      await callInTurn(account, line)
    }
    line.isCalling = false
  }

  /** An account's limit refuses all of its line, and a key's limit those of the key. */
  async function callInTurn(account: string, line: Line): Promise<void> {
    const refusedKeys = new Set<string>()
    let isRefused = false
    for (const one of line.waiting) {
      if (!isRefused && !refusedKeys.has(one.keyHash) && !(await settles(account, line, one))) {
        if (one.refusal.scope === 'key') refusedKeys.add(one.keyHash)
        else isRefused = true
      }
      if (line.waiting.has(one) && one.untilMs <= performance.now()) {
        leave(account, line, one)
        one.resolve(one.refusal)
      }
    }
  }

  async function settles(account: string, line: Line, one: Waiting): Promise<boolean> {
    try {
      const decision = await one.again()
      if (isPending(decision)) {
        one.refusal = decision
        return false
      }
      one.resolve(decision)
    } catch (error) {
      one.reject(error)
    }
    leave(account, line, one)
    return true
  }

  return {
    async wait({ account, keyHash }, refusal, again) {
      const line = lines.get(account)
      if (count >= MOST_OF_ALL || (line && line.waiting.size >= MOST_OF_ACCOUNT)) return refusal
      const { promise, resolve, reject } = Promise.withResolvers<Decision>()
      const untilMs = performance.now() + refusal.retryAfterMs
      lineOf(account).waiting.add({ keyHash, untilMs, refusal, again, resolve, reject })
      count++
      return promise
    },
    ended(account) {
      const line = lines.get(account)
      if (line) void callAgain(account, line)
    },
  }
}
