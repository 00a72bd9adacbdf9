import fc from 'fast-check'
import { expect, test } from 'vitest'
import { keyMeter, UNUSED } from './meter.ts'
import type { RequestRecord, RunningRecord } from './records.ts'
import {
  ended,
  included,
  inWindow,
  lapsed,
  type Remains,
  unused,
  type Use,
  withMeter,
  withoutRecord,
  withRecord,
  withTotal,
} from './use.ts'

const NOW_MS = Date.UTC(2026, 10, 30, 12)
/** The third of three requests has a plain key. */
const KEY_IDS = ['one', 'two']
const TODAY = { day: Math.floor(NOW_MS / 86_400_000), count: 1 }

/** A history of random requests: the sums, and the records behind them. */
interface Incarnation {
  use: Use
  records: Map<string, RequestRecord>
}

const id = fc.integer({ min: 0, max: 5 }).map(String)
const amount = fc.integer({ min: 0, max: 1000 })
const window = fc.constantFrom('2026-11', '2026-12')
const event = fc.oneof(
  fc.tuple(fc.constant('begin' as const), id, amount, window),
  fc.tuple(fc.constant('end' as const), id, amount, window),
  fc.tuple(fc.constant('lapse' as const), id, amount, window),
  fc.tuple(fc.constant('include' as const), id, amount, window),
  fc.tuple(fc.constant('forget' as const), id, amount, window),
  fc.tuple(fc.constant('turn' as const), id, amount, window),
)

function happen(
  { use, records }: Incarnation,
  [what, requestId, value, of]: [string, string, number, string],
): Incarnation {
  const record = records.get(requestId)
  if (what === 'turn') {
    const kept = [...records].filter(([, each]) => each.state !== 'ended' || each.window === of)
    return {
      use: inWindow(
        use,
        of,
        kept.map(([, each]) => each),
        NOW_MS,
      ),
      records: new Map(kept),
    }
  }
  if (what === 'begin' && !record) {
    const lapsesAtMs = NOW_MS
    const held = { window: use.window, tokens: 0, keyId: KEY_IDS[value % 3] ?? null, inBuckets: [] }
    const begun: RunningRecord = { ...held, state: 'running', amount: value, lapsesAtMs }
    return { use: withRecord(use, begun), records: records.set(requestId, begun) }
  }
  const remain = (after: Remains): Incarnation => {
    if (after.record) records.set(requestId, after.record)
    else records.delete(requestId)
    return { use: after.use, records }
  }
  if (what === 'end' && record) return remain(ended(use, record, { charge: value, tokens: 0 }, NOW_MS))
  if (what === 'lapse' && record?.state === 'running') return remain(lapsed(use, record, NOW_MS))
  if (what === 'include' && record) {
    return remain(included(use, record, { tokens: 0, mayChange: value % 2 === 1, version: value }, NOW_MS))
  }
  if (what === 'forget' && record) {
    records.delete(requestId)
    return { use: withoutRecord(use, record), records }
  }
  return { use, records }
}

test("the pending amounts of account and keys are always the sums of the window's records", () => {
  const meters = new Map(KEY_IDS.map((keyId) => [keyMeter(keyId), { ...UNUSED, known: true, day: TODAY }]))
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60, size: 'max' }), (events) => {
      let incarnation: Incarnation = { use: { ...unused(NOW_MS), known: true, meters }, records: new Map() }
      for (const each of events) {
        incarnation = happen(incarnation, each)
        const { use, records } = incarnation
        const sums = (isCounted: (record: RequestRecord) => boolean) => {
          const counted = [...records.values()].filter((record) => record.window === use.window && isCounted(record))
          const sum = (state: 'running' | 'ended') =>
            counted.reduce((total, record) => total + (record.state === state ? record.amount : 0), 0)
          return { running: sum('running'), ended: sum('ended') }
        }
        expect(use).toMatchObject(sums(() => true))
        for (const keyId of KEY_IDS) {
          const meter = use.meters.get(keyMeter(keyId))
          if (meter?.known) expect(meter).toMatchObject(sums((record) => record.keyId === keyId))
        }
      }
    }),
  )
})

test('a key whose total becomes known counts the requests that it had before', () => {
  const begun: RunningRecord = {
    ...{ state: 'running', window: '2026-11', amount: 70, lapsesAtMs: NOW_MS, tokens: 5, keyId: 'one', inBuckets: [] },
  }
  const awaiting = withMeter(withRecord(unused(NOW_MS), begun), keyMeter('one'), UNUSED)
  expect(awaiting.meters.get(keyMeter('one'))).toMatchObject({ running: 0 })
  const total = { window: '2026-11', settled: 500, version: 4, keys: [{ keyId: 'one', settled: 30 }] }
  const known = withTotal(awaiting, total, [begun], { isRequested: true })
  expect(known.meters.get(keyMeter('one'))).toMatchObject({ known: true, settled: 30, running: 70, ended: 0 })
})

test('totals in any order leave the newest', () => {
  const totals = fc.uniqueArray(fc.record({ version: fc.integer({ min: 0, max: 99 }), settled: amount }), {
    minLength: 1,
    selector: ({ version }) => version,
  })
  fc.assert(
    fc.property(totals, (reported) => {
      const use = reported.reduce<Use>(
        (held, total) => withTotal(held, { ...total, window: '2026-11' }, [], { isRequested: false }),
        unused(NOW_MS),
      )
      const newest = reported.reduce((a, b) => (a.version > b.version ? a : b))
      expect({ version: use.version, settled: use.settled, known: use.known }).toEqual({ ...newest, known: false })
    }),
  )
})
