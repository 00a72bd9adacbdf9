/**
 * An account's use, settled and pending: its own meter, those of its keys and models, and the changes of both by records of requests.
 */

import type { KeyTotal } from '../port.ts'
import { inNewMonth, isIdle, keyMeter, type Meter, tokensCorrected, UNUSED } from './meter.ts'
import { monthOf } from './month.ts'
import { type EndedRecord, NOT_REPORTED, over, overByLapse, type RequestRecord, type RunningRecord } from './records.ts'

export interface Use extends Meter {
  readonly window: string
  /** The latest known window. */
  readonly latest: string
  /** Of keys and models with limits. */
  readonly meters: ReadonlyMap<string, Meter>
}

export function unused(nowMs: number): Use {
  const { window } = monthOf(nowMs)
  return { ...UNUSED, window, latest: window, meters: new Map() }
}

export function withMeter(use: Use, name: string, meter: Meter): Use {
  return { ...use, meters: new Map(use.meters).set(name, meter) }
}

/**
 * A new window. It begins with nothing used where the last total was known, and no window as late as this one is known. Otherwise
 * its total is unknown. Running requests keep belonging to the window of their admission; those that have ended in another one
 * count no more.
 */
export function inWindow(use: Use, window: string, records: Iterable<RequestRecord>, nowMs: number): Use {
  if (use.window === window) return use
  const known = use.known && window > use.latest
  const meters = [...use.meters].flatMap(([name, meter]): [string, Meter][] =>
    isIdle(meter, nowMs) ? [] : [[name, inNewMonth(meter, known)]],
  )
  const latest = laterOf(use.latest, window)
  return recounted({ ...use, ...inNewMonth(use, known), window, latest, meters: new Map(meters) }, records)
}

/** The sums of the records, in the account's meter and in those of its keys. */
export function recounted(use: Use, records: Iterable<RequestRecord>): Use {
  const uncounted = { running: 0, ended: 0 }
  const meters = new Map([...use.meters].map(([name, meter]) => [name, { ...meter, ...uncounted }]))
  const nothing: Use = { ...use, ...uncounted, meters }
  return [...records].reduce((sums, record) => withRecord(sums, record), nothing)
}

export function withRecord(use: Use, record: RequestRecord): Use {
  return changeSum(use, record, 1)
}

export function withoutRecord(use: Use, record: RequestRecord): Use {
  return changeSum(use, record, -1)
}

function changeSum(use: Use, record: RequestRecord, sign: 1 | -1): Use {
  if (record.state === 'over' || record.window !== use.window) return use
  const { state, amount, keyId } = record
  const changed = { ...use, [state]: use[state] + sign * amount }
  const key = keyId === null ? undefined : use.meters.get(keyMeter(keyId))
  if (!key?.known) return changed
  return withMeter(changed, keyMeter(keyId!), { ...key, [state]: key[state] + sign * amount })
}

/** The buckets hold this much of the request from now on. */
function withTokens(use: Use, record: RequestRecord, tokens: number, nowMs: number): Use {
  const held = record.tokens
  if (held === null || held === tokens) return use
  return record.inBuckets.reduce(
    (corrected, name) => {
      const meter = corrected.meters.get(name)
      return meter ? withMeter(corrected, name, tokensCorrected(meter, held, tokens, nowMs)) : corrected
    },
    tokensCorrected(use, held, tokens, nowMs),
  )
}

export interface Remains {
  use: Use
  /** Null: the store keeps nothing. */
  record: RequestRecord | null
}

/**
 * The end of a request. Where its lease had lapsed, the ledger reports its charge. Where the ledger has reported it, nothing happens.
 */
export function ended(
  use: Use,
  record: RequestRecord,
  end: { charge: number; tokens: number },
  nowMs: number,
): Remains {
  if (record.state === 'ended' || (record.state === 'over' && record.version !== NOT_REPORTED)) return { use, record }
  const corrected = withTokens(use, record, end.tokens, nowMs)
  const tokens = record.tokens === null ? null : end.tokens
  if (record.state === 'over') return { use: corrected, record: { ...record, tokens } }
  const released = withoutRecord(corrected, record)
  if (record.window !== use.window || end.charge <= 0) {
    return { use: released, record: over(record, tokens, NOT_REPORTED, nowMs) }
  }
  const { window, keyId, inBuckets } = record
  const remains: EndedRecord = { state: 'ended', window, keyId, inBuckets, amount: end.charge, tokens }
  return { use: withRecord(released, remains), record: remains }
}

/**
 * Nobody has renewed it, and a backend may still work for it. The buckets keep the reservation until the ledger reports the tokens.
 */
export function lapsed(use: Use, record: RunningRecord, nowMs: number): Remains {
  return { use: withoutRecord(use, record), record: overByLapse(record, nowMs) }
}

/** The ledger includes it, and says how many tokens it has of it. */
export function included(
  use: Use,
  record: RequestRecord,
  reported: { tokens?: number | undefined; mayChange?: boolean | undefined; version: number },
  nowMs: number,
): Remains {
  const released = withoutRecord(use, record)
  const { tokens, mayChange = false, version } = reported
  // An older report that comes after a newer one knows less.
  if (mayChange && record.state === 'over' && record.version > version) return { use: released, record }
  const corrected = tokens === undefined ? released : withTokens(released, record, tokens, nowMs)
  const isKept = mayChange && record.tokens !== null
  return { use: corrected, record: isKept ? over(record, tokens ?? record.tokens, version, nowMs) : null }
}

export interface WindowTotal {
  window: string
  settled: number
  version: number
  keys?: readonly KeyTotal[] | undefined
}

/** The window's total from the ledger, with those of keys. Older versions change no total. */
export function withTotal(
  use: Use,
  total: WindowTotal,
  records: Iterable<RequestRecord>,
  { isRequested }: { isRequested: boolean },
): Use {
  // A window that has a total before it begins does not begin with nothing.
  const latest = laterOf(use.latest, total.window)
  if (total.window !== use.window) return { ...use, latest }
  const withOwn = { ...use, ...meterWithTotal(use, total, isRequested), latest }
  const { version, keys = [] } = total
  let isCounted = true
  const totals = keys.reduce((after, { keyId, settled }) => {
    const meter = after.meters.get(keyMeter(keyId)) ?? newKeyMeter(after, version, isRequested)
    if (!meter) return after
    if (isRequested && !meter.known) isCounted = false
    return withMeter(after, keyMeter(keyId), meterWithTotal(meter, { settled, version }, isRequested))
  }, withOwn)
  // Those of a key whose total was unknown did not count.
  return isCounted ? totals : recounted(totals, records)
}

function meterWithTotal(meter: Meter, total: { settled: number; version: number }, isRequested: boolean): Meter {
  const { settled, version } = total.version > meter.version ? total : meter
  return { ...meter, settled, version, known: meter.known || isRequested }
}

/** The store keeps totals only of keys that it meters. It may have dropped a newer one of a key that it did not meter. */
function newKeyMeter(use: Use, version: number, isRequested: boolean): Meter | null {
  return isRequested && version >= use.version ? UNUSED : null
}

/** The key's total is not known from now on. */
export function withoutKeyTotal(use: Use, keyId: string): Use {
  const meter = use.meters.get(keyMeter(keyId))
  return meter ? withMeter(use, keyMeter(keyId), { ...meter, known: false }) : use
}

function laterOf(one: string, other: string): string {
  return one > other ? one : other
}
