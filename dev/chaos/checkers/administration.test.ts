import { describe, expect, test } from 'vitest'
import type { AdministrationCall } from '../clients/administrator.ts'
import type { LimitFact } from '../clients/limit-log.ts'
import type { Seen } from '../clients/seen.ts'
import { checkAudit } from './audit.ts'
import type { Administration, AuditRow, Facts, Verdict } from './facts.ts'
import { checkProjectLimits } from './project-limits.ts'
import { checkRefusals } from './refusals.ts'
import { CALL, ROW, SEEN, WELL } from './well.ts'

const DAY_MS = 86_400_000
/** A moment of a day's first hour. */
const NOW_MS = 20_000 * DAY_MS + 600_000

const limitOf = (more: Partial<LimitFact>): LimitFact => ({
  ...{ scope: 'key', reason: 'requests', owners: ['key-1'], model: null, unit: 'tokens' },
  values: [{ value: 3, fromMs: 0, toMs: null }],
  ...more,
})

const administrationOf = (more: Partial<Administration>): Administration => ({
  ...{ calls: [], limits: [], lists: [], audit: { rows: [], checked: 0, problem: null } },
  ...more,
})

/** Requests of the key, a second after each other, with their calls and rows. */
function requested(count: number, more: Partial<Seen> = {}): Pick<Facts, 'seen' | 'calls' | 'rows'> {
  const numbers = Array.from({ length: count }, (_, at) => at)
  const sentAt = (at: number) => NOW_MS + 1_000 * at
  return {
    seen: numbers.map((at) => ({
      ...{ ...SEEN, owner: 'key-1', id: `r${at}`, requestId: `request-${at}` },
      ...{ sentAtMs: sentAt(at), headAtMs: sentAt(at) + 20, endedAtMs: sentAt(at) + 30 },
      ...more,
    })),
    calls: numbers.map((at) => ({
      ...{
        ...CALL,
        id: `r${at}`,
        requestId: `request-${at}`,
        startedAtMs: sentAt(at) + 10,
        endedAtMs: sentAt(at) + 25,
      },
    })),
    rows: numbers.map((at) => ({ ...ROW, requestId: `request-${at}`, recordedAtMs: sentAt(at) + 100 })),
  }
}

const factsOf = (administration: Partial<Administration>, more: Partial<Facts> = {}): Facts => ({
  ...WELL,
  owners: [{ name: 'key-1', kind: 'tenant', account: 'tag-1' }],
  ...more,
  administration: administrationOf(administration),
})

const found = (verdicts: Verdict[]) => verdicts.flatMap(({ violations }) => violations.map(({ what }) => what))
const passed = (facts: Facts) => found(checkProjectLimits(facts))

describe('it is found out, by the backends’ own counts, when', () => {
  test('a key sends more requests than its limit within 60 seconds', () => {
    const limits = [limitOf({})]
    expect(passed(factsOf({ limits }, requested(3)))).toEqual([])
    expect(passed(factsOf({ limits }, requested(4))).join()).toContain(
      'requests of the key of key-1: 4 requests within',
    )
  })

  test('it does although the gateway says that it refused them', () => {
    const refused = requested(4, { status: 429, problem: '429 requests', scope: 'key', complete: false })
    expect(passed(factsOf({ limits: [limitOf({})] }, refused))).toHaveLength(1)
  })

  test('a limit that was raised holds at its higher value from the change on, and one that was lowered until it is confirmed', () => {
    const raised = [
      { value: 3, fromMs: 0, toMs: NOW_MS },
      { value: 4, fromMs: NOW_MS - 10, toMs: null },
    ]
    expect(passed(factsOf({ limits: [limitOf({ values: raised })] }, requested(4)))).toEqual([])
    const lowered = [
      { value: 4, fromMs: 0, toMs: NOW_MS - 100_000 },
      { value: 3, fromMs: NOW_MS - 100_010, toMs: null },
    ]
    expect(passed(factsOf({ limits: [limitOf({ values: lowered })] }, requested(4)))).toHaveLength(1)
  })

  test('a model gets more requests of a project than its limit, and none of another model counts', () => {
    const limits = [limitOf({ scope: 'model', model: 'chat-one' })]
    expect(passed(factsOf({ limits }, requested(4)))).toHaveLength(1)
    expect(passed(factsOf({ limits }, requested(4, { model: 'chat-dear' })))).toEqual([])
  })

  test('a model gets more requests in a day than its limit', () => {
    const limits = [limitOf({ scope: 'model', reason: 'day', model: 'chat-one' })]
    expect(passed(factsOf({ limits }, requested(3)))).toEqual([])
    expect(passed(factsOf({ limits }, requested(4))).join()).toContain('4 requests in a day')
  })

  test('a key gets more tokens within 60 seconds than its bucket lets pass', () => {
    const limits = [limitOf({ reason: 'tokens', values: [{ value: 100, fromMs: 0, toMs: null }] })]
    expect(passed(factsOf({ limits }, requested(40)))).toEqual([])
    expect(passed(factsOf({ limits }, requested(50))).join()).toContain('tokens within 60 s')
  })

  test.each(['tokens', 'usd'] as const)('a month of %s is passed by more than one worst case', (unit) => {
    const limits = [limitOf({ reason: 'allowance', unit, values: [{ value: 15_000, fromMs: 0, toMs: null }] })]
    expect(passed(factsOf({ limits }, requested(2)))).toEqual([])
    expect(passed(factsOf({ limits }, requested(120))).join()).toContain('in a month; with 1 worst cases')
  })

  test('an edge alone admits to a month that the ledger knew to be used up', () => {
    const limits = [limitOf({ reason: 'allowance', values: [{ value: 15_000, fromMs: 0, toMs: null }] })]
    const alone = [{ edge: 0, atMs: NOW_MS + 9_000 }]
    expect(passed(factsOf({ limits }, { ...requested(5), alone: [{ edge: 0, atMs: NOW_MS }] }))).toEqual([])
    expect(passed(factsOf({ limits }, { ...requested(10), alone })).join()).toContain('although the ledger knew of')
  })

  test('a key calls a model that its list leaves out', () => {
    const lists = [{ scope: 'key' as const, owners: ['key-1'], models: ['chat-dear'] }]
    expect(passed(factsOf({ lists }, requested(1))).join()).toContain('called chat-one, which the list of the key')
    expect(passed(factsOf({ lists }, requested(1, { model: 'chat-dear' })))).toEqual([])
  })
})

describe('a refusal', () => {
  /** Refused a second after the others. */
  const refusedAfter = (count: number, refusal: Partial<Seen>): Pick<Facts, 'seen' | 'calls' | 'rows'> => {
    const { seen, ...others } = requested(count)
    const last = requested(count + 1, { complete: false, status: 429, ...refusal }).seen.at(-1)!
    return { ...others, seen: [...seen, last] }
  }
  const wrong = (administration: Partial<Administration>, facts: Partial<Facts>) =>
    found([checkRefusals(factsOf(administration, facts))]).join()

  test('names a limit that is used up', () => {
    const limits = [limitOf({})]
    const refusal = { problem: '429 requests', scope: 'key' }
    expect(wrong({ limits }, refusedAfter(3, refusal))).toBe('')
    expect(wrong({ limits }, refusedAfter(2, refusal))).toContain('429 requests of the key, although it is not used up')
  })

  test('names no other limit, and not the scope of another', () => {
    const limits = [limitOf({})]
    expect(wrong({ limits }, refusedAfter(3, { problem: '429 requests', scope: 'model' }))).toContain('no such limit')
    expect(wrong({ limits }, refusedAfter(3, { problem: '429 tokens', scope: 'key' }))).toContain('no such limit')
    expect(wrong({ limits }, refusedAfter(3, { problem: '429 requests', scope: null }))).toContain('no such limit')
  })

  test('of an edge alone may come at its share', () => {
    const limits = [limitOf({})]
    const facts = refusedAfter(1, { problem: '429 requests', scope: 'key' })
    expect(wrong({ limits }, facts)).toContain('not used up')
    expect(wrong({ limits }, { ...facts, alone: [{ edge: 0, atMs: NOW_MS + 1_000 }] })).toBe('')
  })

  test('of a day, of tokens and of a month needs as much use', () => {
    const day = [limitOf({ reason: 'day' })]
    expect(wrong({ limits: day }, refusedAfter(3, { problem: '429 day', scope: 'key' }))).toBe('')
    expect(wrong({ limits: day }, refusedAfter(2, { problem: '429 day', scope: 'key' }))).toContain('not used up')
    const tokens = [limitOf({ reason: 'tokens', values: [{ value: 2_000, fromMs: 0, toMs: null }] })]
    expect(wrong({ limits: tokens }, refusedAfter(9, { problem: '429 tokens', scope: 'key' }))).toBe('')
    expect(wrong({ limits: tokens }, refusedAfter(1, { problem: '429 tokens', scope: 'key' }))).toContain('not used up')
    const month = [limitOf({ reason: 'allowance', values: [{ value: 5_000_000, fromMs: 0, toMs: null }] })]
    const spent = { status: 402, problem: '402 quota_exceeded', scope: 'key' }
    expect(wrong({ limits: month }, refusedAfter(40, spent))).toBe('')
    expect(wrong({ limits: month }, refusedAfter(0, spent))).toContain('not used up')
    // One running request may hold more than it can cost: the gateway's bound of its prompt.
    const held = { problem: '429 pending', scope: 'key' }
    expect(wrong({ limits: month }, refusedAfter(1, held))).toBe('')
  })

  test('by a list is of a model that the list leaves out', () => {
    const lists = [{ scope: 'key' as const, owners: ['key-1'], models: ['chat-dear'] }]
    const refusal = { problem: '429 plan_limit', scope: 'key' }
    expect(wrong({ lists }, refusedAfter(0, refusal))).toBe('')
    expect(wrong({ lists }, refusedAfter(0, { ...refusal, model: 'chat-dear' }))).toContain('whose list has chat-dear')
    expect(wrong({}, refusedAfter(0, refusal))).toContain('which has no list')
  })
})

describe('the audit log', () => {
  const MADE: AdministrationCall = {
    ...{ agent: 'chaos/1', operation: 'apiKeys.create', change: null, sentAtMs: 1_000, endedAtMs: 1_010 },
    ...{ status: 200, requestId: 'request-1', detail: '' },
  }
  const UNKNOWN = { ...MADE, status: null, requestId: null }
  const AUDITED: AuditRow = { type: 'api_key.created', userAgent: 'chaos/1', requestId: 'request-1' }
  const KILLED: Facts['injected'] = [
    {
      ...{ fault: { kind: 'kill', victim: 'keys-1', number: 1 }, injectedAtMs: 900, healedAtMs: 5_000 },
      ...{ destroyed: [], victim: null, note: '' },
    },
  ]
  const wrong = (calls: AdministrationCall[], rows: AuditRow[], problem: string | null = null) => {
    const audit = { rows, checked: rows.length, problem }
    return found(checkAudit(factsOf({ calls, audit }, { injected: KILLED }))).join()
  }

  test('has a confirmed change once', () => {
    expect(wrong([MADE], [AUDITED])).toBe('')
    expect(wrong([MADE], [])).toContain('it is 200, and has 0 rows api_key.created')
    expect(wrong([MADE], [AUDITED, AUDITED])).toContain('it is 200, and has 2 rows api_key.created')
    expect(wrong([MADE], [{ ...AUDITED, type: 'api_key.deleted' }])).toContain('it has a row api_key.deleted')
    expect(wrong([MADE], [{ ...AUDITED, requestId: 'request-2' }])).toContain('names the request request-2')
  })

  test('has an unconfirmed change at most once, all of it or nothing, and a refused one never', () => {
    expect(wrong([UNKNOWN], [])).toBe('')
    expect(wrong([UNKNOWN], [AUDITED])).toBe('')
    expect(wrong([UNKNOWN], [AUDITED, AUDITED])).toContain('it is unknown, and has 2 rows')
    expect(wrong([{ ...MADE, status: 409 }], [AUDITED])).toContain('it is 409, and has 1 rows')
    const robot = { ...UNKNOWN, operation: 'serviceAccounts.create' as const }
    expect(wrong([robot], [AUDITED])).toContain('it has some of its rows alone')
  })

  test('has a repeated change once, by the first call or by its repetition', () => {
    const first = { ...UNKNOWN, operation: 'apiKeys.delete' as const, change: 'chaos/1' }
    const again = { ...first, agent: 'chaos/2', status: 200, requestId: 'request-2' }
    const row = { ...AUDITED, type: 'api_key.deleted' }
    const ofAgain = { ...row, userAgent: 'chaos/2', requestId: 'request-2' }
    expect(wrong([first, again], [row])).toBe('')
    expect(wrong([first, again], [ofAgain])).toBe('')
    expect(wrong([first, again], [])).toContain('the change of chaos/1 has 0 rows')
    expect(wrong([first, again], [row, ofAgain])).toContain('the change of chaos/1 has 2 rows')
  })

  test('verifies, to its last row', () => {
    expect(wrong([], [], 'changed at audit_log-3: row 3 was changed')).toContain('row 3 was changed')
    const audit = { rows: [AUDITED], checked: 0, problem: null }
    expect(found(checkAudit(factsOf({ audit }))).join()).toContain('0 rows verified, and there are 1')
  })

  test('an administrator is refused while a fault is there, and at no other time', () => {
    const refused = { ...MADE, status: 503, detail: 'no reply' }
    const later = { ...refused, sentAtMs: 9_000, endedAtMs: 9_010 }
    expect(wrong([refused], [])).toBe('')
    expect(wrong([later], [])).toContain('apiKeys.create: 503: no reply')
  })
})
