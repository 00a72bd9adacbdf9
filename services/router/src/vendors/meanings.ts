/**
 * The meaning of a target's words, in its errors and at the end of its responses. Its own vendor's words come first,
 * then those of every backend, then those of the other vendors. Aggregators, proxies and servers without a profile pass
 * on the words of another vendor.
 */

import { COMMON_MEANINGS, type ErrorMeanings } from '../core/error-meanings.ts'
import { COMMON_FINISH_REASONS, type FinishMeaning, type FinishReasons } from '../core/finish-reasons.ts'
import { VENDOR_PROFILES } from './index.ts'
import type { VendorProfile } from './profile.ts'

export interface Meanings {
  errors: ErrorMeanings
  finishReasons: FinishReasons
}

/** They are the same each time, and every response needs them. */
const known = new Map<VendorProfile, Meanings>()

export function meaningsOf(profile: VendorProfile): Meanings {
  let meanings = known.get(profile)
  if (meanings === undefined) {
    const others = Object.values(VENDOR_PROFILES).filter((other) => other !== profile)
    meanings = {
      errors: joined([profile.errors, COMMON_MEANINGS, ...others.map(toOthers)]),
      finishReasons: finishReasonsOf(profile, others),
    }
    known.set(profile, meanings)
  }
  return meanings
}

/** That a word is of something passing holds at its own vendor alone. */
function toOthers({ errors }: VendorProfile): Partial<ErrorMeanings> | undefined {
  return errors && { ...errors, account: (errors.account ?? []).filter(({ is }) => is !== 'passing') }
}

function joined(parts: readonly (Partial<ErrorMeanings> | undefined)[]): ErrorMeanings {
  const all = parts.filter((part) => part !== undefined)
  const requestFaults: Record<number, RegExp[]> = {}
  for (const [status, sentences = []] of all.flatMap((part) => Object.entries(part.requestFaults ?? {})))
    (requestFaults[Number(status)] ??= []).push(...sentences)
  return {
    account: all.flatMap(({ account = [] }) => account),
    requestFaults,
    rejectedParameter: all.flatMap(({ rejectedParameter = [] }) => rejectedParameter),
    rejectedEffort: all.flatMap(({ rejectedEffort = [] }) => rejectedEffort),
    tooLong: all.flatMap(({ tooLong = [] }) => tooLong),
    filtered: all.flatMap(({ filtered = [] }) => filtered),
  }
}

/** The later of two meanings counts. */
function finishReasonsOf(profile: VendorProfile, others: readonly VendorProfile[]): FinishReasons {
  const wordsOf = ({ finishReasons = {} }: VendorProfile): [string, FinishMeaning][] => Object.entries(finishReasons)
  return new Map([...others.flatMap(wordsOf), ...COMMON_FINISH_REASONS, ...wordsOf(profile)])
}
