import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  ended,
  included,
  inWindow,
  judgeAllowance,
  lapsed,
  type Remains,
  type RequestRecord,
  type RunningRecord,
  unused,
  type Use,
  withoutRecord,
  withRecord,
  withTotal,
} from './use.ts'

const NOW_MS = Date.UTC(2026, 10, 30, 12)

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
      ),
      records: new Map(kept),
    }
  }
  if (what === 'begin' && !record) {
    const lapsesAtMs = NOW_MS
    const begun: RunningRecord = { state: 'running', window: use.window, amount: value, tokens: 0, lapsesAtMs }
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

test("the pending amount is always the sum of the window's records", () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60, size: 'max' }), (events) => {
      let incarnation: Incarnation = { use: unused(NOW_MS), records: new Map() }
      for (const each of events) {
        incarnation = happen(incarnation, each)
        const { use, records } = incarnation
        const sum = (state: 'running' | 'ended') =>
          [...records.values()]
            .filter((record) => record.window === use.window)
            .reduce((total, record) => total + (record.state === state ? record.amount : 0), 0)
        expect({ running: use.running, ended: use.ended }).toEqual({ running: sum('running'), ended: sum('ended') })
      }
    }),
  )
})

test('totals in any order leave the newest', () => {
  const totals = fc.uniqueArray(fc.record({ version: fc.integer({ min: 0, max: 99 }), settled: amount }), {
    minLength: 1,
    selector: ({ version }) => version,
  })
  fc.assert(
    fc.property(totals, (reported) => {
      const use = reported.reduce<Use>(
        (held, total) => withTotal(held, { ...total, window: '2026-11' }, false),
        unused(NOW_MS),
      )
      const newest = reported.reduce((a, b) => (a.version > b.version ? a : b))
      expect({ version: use.version, settled: use.settled, known: use.known }).toEqual({ ...newest, known: false })
    }),
  )
})

test.each([
  { used: 0, running: 0, limit: 1000, overage: false, verdict: 'fits' },
  { used: 999, running: 0, limit: 1000, overage: false, verdict: 'fits' },
  { used: 1000, running: 0, limit: 1000, overage: false, verdict: 'allowance' },
  { used: 999, running: 1, limit: 1000, overage: false, verdict: 'pending' },
  { used: 0, running: 999, limit: 1000, overage: false, verdict: 'fits' },
  { used: 0, running: 0, limit: 0, overage: false, verdict: 'allowance' },
  { used: 5000, running: 5000, limit: 1000, overage: true, verdict: 'fits' },
])('$used used and $running running of $limit, overage $overage: $verdict', ({ verdict, ...sums }) => {
  expect(judgeAllowance(sums)).toBe(verdict)
})

test('the limit is passed by less than the worst case of the one admitted last', () => {
  const amounts = fc.array(fc.integer({ min: 1, max: 500 }), { maxLength: 100 })
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 5000 }),
      fc.integer({ min: 1, max: 6000 }),
      amounts,
      (used, limit, worstCases) => {
        let running = 0
        for (const worst of worstCases) {
          if (judgeAllowance({ used, running, limit, overage: false }) !== 'fits') continue
          running += worst
          expect(used + running).toBeLessThan(limit + worst)
        }
      },
    ),
  )
})
