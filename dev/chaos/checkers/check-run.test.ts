import { describe, expect, test } from 'vitest'
import type { FaultAction } from '../plan/faults.ts'
import type { Facts } from './facts.ts'
import { checkRun } from './check-run.ts'
import { CALL, ROW, SEEN, STORE, WELL } from './well.ts'

const broken = (facts: Partial<Facts>) => {
  const { verdicts } = checkRun({ ...WELL, ...facts })
  return verdicts.flatMap(({ violations }) => violations.map(({ what }) => what))
}
const injection = (fault: FaultAction, more: object = {}): Facts['injected'] => [
  {
    fault: { ...fault, number: 1 },
    injectedAtMs: 900,
    healedAtMs: 5_000,
    destroyed: [],
    victim: null,
    note: '',
    ...more,
  },
]

const clockOf = (victim: 'redis' | 'postgres', byMs: number) => ({ kind: 'clock', victim, byMs, forMs: 4_000 }) as const
const splitAt = (edge: 'edge-1' | 'edge-2', together: boolean) => {
  return { kind: 'split', edge, together, forMs: 9_000 } as const
}
const REDIS_FAILS_OVER = { kind: 'fail-over', server: 'redis', forMs: 4_000 } as const

test('a run in which all is well breaks nothing', () => {
  expect(broken({})).toEqual([])
  expect(checkRun(WELL).isKept).toBe(true)
})

describe('it is found out when', () => {
  test.each<[string, Partial<Facts>, string]>([
    ['a request has no row', { rows: [] }, 'lost: it has no row'],
    [
      'a request has two rows',
      { rows: [ROW, { ...ROW, requestId: 'request-2' }], calls: [CALL, { ...CALL, requestId: 'request-2' }] },
      '2 rows',
    ],
    ['a row is only its router’s', { rows: [{ ...ROW, reporter: 'router', outcome: 'edge_lost' }] }, 'edge_lost'],
    ['a row has other tokens', { rows: [{ ...ROW, completionTokens: 4, charge: 14_000 }] }, "the backend's log"],
    ['a row names another target', { rows: [{ ...ROW, backend: 'south' }] }, 'south'],
    ['a row is of another attempt', { calls: [{ ...CALL, responseId: 'answer-2' }] }, 'knows nothing of the answer'],
    ['a row charges too much', { rows: [{ ...ROW, charge: 16_000 }] }, 'which cost 15000'],
    ['a row has no work behind it', { rows: [ROW, { ...ROW, requestId: 'x' }] }, 'never asked'],
    ['a window is not its sum', { windows: [{ account: 'tag-1', total: 15_000, sum: 30_000 }] }, 'rows come to'],
    ['the store is behind', { store: [{ ...STORE, settled: 1 }] }, 'the store has 1'],
    ['something stays pending', { store: [{ ...STORE, records: ['request-9 ended 2026-11 5'] }] }, 'running'],
    ['something stays in the stream', { backlog: { events: 3, owedTotals: 0, rejected: 0 } }, 'events: 3'],
    ['a text is another', { seen: [{ ...SEEN, text: 'other', detail: 'instead of' }] }, 'instead of'],
    ['[DONE] comes too early', { seen: [{ ...SEEN, text: 'beginning' }] }, 'it looks complete and is not'],
    ['two attempts are mixed', { seen: [{ ...SEEN, responseIds: ['answer-1', 'answer-2'] }] }, 'several answers'],
    ['a dead key is admitted', { seen: [{ ...SEEN, keyState: 'dead' }] }, 'dead key was answered 200'],
    ['a client fails for no reason', { seen: [{ ...SEEN, complete: false, problem: '503 X' }], rows: [] }, '503 X'],
  ])('%s', (_name, facts, what) => {
    expect(broken(facts).join('\n')).toContain(what)
  })

  test('more are admitted than the rate in sixty seconds', () => {
    const admitted = (count: number, everyMs = 1_900) =>
      Array.from({ length: count }, (_, index) => {
        const sentAtMs = 100_000 + index * everyMs
        return { ...SEEN, owner: 'trickle', kind: 'probe' as const, sentAtMs, headAtMs: sentAtMs + 5, complete: false }
      })
    expect(broken({ seen: admitted(30) })).toEqual([])
    expect(broken({ seen: admitted(31) }).join()).toContain('31 times')
    // An edge that decided by itself has a share of its own.
    expect(broken({ seen: admitted(31), alone: [{ edge: 0, atMs: 120_000 }] })).toEqual([])
    // A replica without the last seconds lets the rate pass once more.
    const injected = injection(REDIS_FAILS_OVER, { injectedAtMs: 110_000, healedAtMs: 120_000 })
    expect(broken({ seen: admitted(60, 900), injected })).toEqual([])
    expect(broken({ seen: admitted(61, 900), injected }).join()).toContain('61 times')
    // So does one that its Sentinels or its cluster promoted, once for each.
    expect(broken({ seen: admitted(60, 900), promotionsAtMs: [115_000] })).toEqual([])
    expect(broken({ seen: admitted(61, 900), promotionsAtMs: [115_000], injected }).join()).toContain('61 times')
    expect(broken({ seen: admitted(61, 900), promotionsAtMs: [114_000, 115_000], injected })).toEqual([])
    expect(broken({ seen: admitted(31), promotionsAtMs: [20_000] }).join()).toContain('31 times')
    // So does a clock of Redis that is set ahead.
    const shifted = injection(clockOf('redis', 30_000), { injectedAtMs: 110_000, healedAtMs: 120_000 })
    expect(broken({ seen: admitted(60, 900), injected: shifted })).toEqual([])
    expect(broken({ seen: admitted(61, 900), injected: shifted }).join()).toContain('61 times')
    const elsewhere = injection(clockOf('postgres', 30_000), { injectedAtMs: 110_000, healedAtMs: 120_000 })
    expect(broken({ seen: admitted(31), injected: elsewhere }).join()).toContain('31 times')
  })

  test('an allowance is passed by more than one worst case', () => {
    const spent = { ...ROW, account: 'tag-3', completionTokens: 2_990, charge: 3_000_000 }
    expect(broken({ rows: [spent] }).join()).toContain('thimble-1 has spent 3000000')
  })

  test('an allowance is passed by more than a failover of Redis forgot', () => {
    const requested = (count: number, charge: number) => {
      const requests = Array.from({ length: count }, (_, index) => `request-${index}`)
      return {
        seen: requests.map((requestId) => ({ ...SEEN, owner: 'thimble-1', requestId, complete: false })),
        rows: requests.map((requestId) => ({ ...ROW, account: 'tag-3', requestId, charge, recordedAtMs: 1_200 })),
        injected: injection(REDIS_FAILS_OVER),
      }
    }
    const passed = (facts: Partial<Facts>) => broken(facts).filter((what) => what.includes('worst cases'))
    expect(passed(requested(3, 800_000))).toEqual([])
    expect(passed({ ...requested(3, 800_000), injected: [] })).toHaveLength(1)
    expect(passed(requested(3, 1_200_000)).join()).toContain('with 4 worst cases')
  })
})

test('an edge alone is held to the totals that the ledger knew, also where its clock was behind', () => {
  const sentAtMs = 40_000
  const spent = { ...ROW, account: 'tag-3', completionTokens: 1_490, charge: 1_500_000, recordedAtMs: 3_000 }
  const facts = {
    seen: [
      { ...SEEN, owner: 'thimble-1', complete: false, sentAtMs, headAtMs: sentAtMs + 10, endedAtMs: sentAtMs + 20 },
    ],
    rows: [spent],
    alone: [{ edge: 0, atMs: sentAtMs }],
  }
  const knew = (injected: Facts['injected']) =>
    broken({ ...facts, injected }).filter((what) => what.includes('ledger knew'))
  const whileInjected = { injectedAtMs: 31_000, healedAtMs: 39_000 }
  expect(knew([])).toHaveLength(1)
  expect(knew(injection(clockOf('postgres', -32_000), whileInjected))).toEqual([])
  expect(knew(injection(clockOf('postgres', 30_000), whileInjected))).toHaveLength(1)
  expect(knew(injection(clockOf('redis', -32_000), whileInjected))).toHaveLength(1)
})

test('a former primary of Redis that goes on taking writes is found out', () => {
  expect(broken({ injected: injection(splitAt('edge-1', false), { servedMs: 5_000 }) })).toEqual([])
  expect(broken({ injected: injection(splitAt('edge-1', false), { servedMs: 5_100 }) }).join()).toContain('5100 ms')
})

test('a former primary of Redis that an edge still calls although its successor is known is found out', () => {
  const unheard = { kind: 'unheard', forMs: 5_000 } as const
  expect(broken({ injected: injection(unheard, { servedMs: 4_000, strayed: 0 }) })).toEqual([])
  expect(broken({ injected: injection(unheard, { servedMs: 4_000, strayed: 2 }) }).join()).toContain('sent 2 scripts')
  expect(broken({ injected: injection(unheard, { servedMs: 5_100, strayed: 0 }) }).join()).toContain('5100 ms')
})

describe('a failure is allowed by a fault that makes it unavoidable, and by no other', () => {
  const failed = (problem: string) => [{ ...SEEN, complete: false, done: false, text: 'beginning' as const, problem }]
  test.each<[string, FaultAction, boolean]>([
    ['cut', { kind: 'kill', victim: 'edge-1' }, true],
    ['cut', { kind: 'kill', victim: 'edge-2' }, false],
    ['cut', { kind: 'lose-machine', victim: 'edge-1', forMs: 1_000 }, true],
    ['cut', { kind: 'lose-machine', victim: 'edge-2', forMs: 1_000 }, false],
    ['error event', { kind: 'lose-machine', victim: 'edge-1', forMs: 1_000 }, false],
    ['cut', { kind: 'restart', victim: 'edge-1' }, false],
    ['cut', { kind: 'switch', processes: ['edge-1', 'keys-1'], to: 'present' }, true],
    ['cut', { kind: 'switch', processes: ['edge-1', 'keys-1'], to: 'former' }, false],
    ['cut', { kind: 'switch', processes: ['edge-2', 'keys-1'], to: 'present' }, false],
    ['error event', { kind: 'kill', victim: 'router-2' }, true],
    ['error event', { kind: 'restart', victim: 'router-2' }, false],
    ['error event', { kind: 'kill', victim: 'metering-1' }, false],
    ['503 SERVICE_UNAVAILABLE', { kind: 'kill', victim: 'nats' }, true],
    ['503 SERVICE_UNAVAILABLE', { kind: 'kill', victim: 'redis' }, false],
    ['503 SERVICE_UNAVAILABLE', { kind: 'cut', link: 'edge-1:nats', forMs: 1_000 }, true],
    ['503 SERVICE_UNAVAILABLE', { kind: 'cut', link: 'edge-2:nats', forMs: 1_000 }, false],
    ['503 SERVICE_UNAVAILABLE', { kind: 'fail-over', server: 'nats', forMs: 4_000 }, true],
    ['503 SERVICE_UNAVAILABLE', { kind: 'isolate', victim: 'nats-2', forMs: 1_000 }, true],
    ['503 SERVICE_UNAVAILABLE', REDIS_FAILS_OVER, false],
    ['503 SERVICE_UNAVAILABLE', splitAt('edge-1', true), true],
    ['503 SERVICE_UNAVAILABLE', splitAt('edge-2', true), false],
    ['503 SERVICE_UNAVAILABLE', splitAt('edge-1', false), false],
    ['503 SERVICE_UNAVAILABLE', clockOf('redis', -30_000), false],
    ['503 SERVICE_UNAVAILABLE', { kind: 'fail-over', server: 'postgres', forMs: 4_000 }, false],
    ['503 SERVICE_UNAVAILABLE', { kind: 'slow-disk', server: 'nats', writesPerSecond: 5, forMs: 4_000 }, true],
    ['error event', { kind: 'slow-disk', server: 'nats', writesPerSecond: 5, forMs: 4_000 }, false],
    ['error event', { kind: 'disk-full', forMs: 4_000 }, true],
    ['error event', { kind: 'stream-wiped' }, false],
    ['503 SERVICE_UNAVAILABLE', { kind: 'slow-disk', server: 'redis', writesPerSecond: 5, forMs: 4_000 }, false],
    ['503 SERVICE_UNAVAILABLE', { kind: 'unheard', forMs: 4_000 }, false],
    ['error event', { kind: 'isolate', victim: 'redis-1', forMs: 1_000 }, false],
    ['503 UPSTREAMS_EXHAUSTED', { kind: 'cut', link: 'router-1:south', forMs: 1_000 }, false],
    ['unreachable', { kind: 'slow', link: 'clients:edge-1', forMs: 1_000, delayMs: 100 }, false],
  ])('%s, %o: %s', (problem, fault, isAllowed) => {
    const what = broken({ seen: failed(problem), injected: injection(fault) })
    expect(what.filter((text) => text.includes('at edge-1')).length === 0).toBe(isAllowed)
  })

  test('or by two, where one is that the machine was too busy for Redis', () => {
    const injected = injection({ kind: 'kill', victim: 'keys-1' })
    const seen = failed('503 SERVICE_UNAVAILABLE')
    expect(broken({ seen, injected }).join()).toContain('503')
    expect(broken({ seen, injected, alone: [{ edge: 1, atMs: 1_050 }] }).join()).toContain('503')
    expect(broken({ seen, injected, alone: [{ edge: 0, atMs: 1_050 }] })).toEqual([])
    expect(broken({ seen, alone: [{ edge: 0, atMs: 1_050 }] }).join()).toContain('503')
  })

  test.each<[string, FaultAction[], boolean]>([
    ['before a switch', [{ kind: 'switch', processes: ['edge-2', 'keys-1'], to: 'present' }], true],
    ['after that of its edge', [{ kind: 'switch', processes: ['edge-1', 'keys-1'], to: 'present' }], false],
    [
      'after its edge went back',
      [
        { kind: 'switch', processes: ['edge-1', 'keys-1'], to: 'present' },
        { kind: 'switch', processes: ['edge-1', 'keys-1'], to: 'former' },
      ],
      true,
    ],
    ['without switches', [], false],
  ])('the last release sheds load beside others on its machine: %s', (_, faults, isAllowed) => {
    const [seen] = failed('503 SERVICE_UNAVAILABLE')
    const shed = { ...seen!, sentAtMs: 9_000, endedAtMs: 9_100, detail: '503 The gateway is overloaded; try again' }
    const injected = faults.flatMap((fault) => injection(fault))
    expect(broken({ seen: [shed], injected }).filter((text) => text.includes('at edge-1')).length === 0).toBe(isAllowed)
    const unmetered = { ...shed, detail: 'Usage cannot be metered' }
    expect(broken({ seen: [unmetered], injected }).join()).toContain('at edge-1')
  })

  test('but not long after it has healed', () => {
    const late = failed('cut').map((seen) => ({ ...seen, sentAtMs: 7_000, endedAtMs: 7_100 }))
    expect(broken({ seen: late, injected: injection({ kind: 'kill', victim: 'edge-1' }) }).join()).toContain('cut')
  })
})

describe('a dead key', () => {
  const refused = {
    ...SEEN,
    keyState: 'dead' as const,
    status: 401,
    complete: false,
    done: false,
    problem: '401 INVALID_KEY',
  }

  test('that is refused breaks nothing, also when a later attempt with another key gets its response', () => {
    const repeating = { ...SEEN, kind: 'repeating' as const }
    const first = { ...refused, kind: 'repeating' as const, requestId: 'request-0' }
    expect(broken({ seen: [first, repeating] })).toEqual([])
    const unreachable = { ...first, requestId: null, status: null, problem: 'unreachable' }
    const injected = injection({ kind: 'kill', victim: 'edge-1' })
    expect(broken({ seen: [unreachable, repeating], injected })).toEqual([])
  })

  test('may be refused without a reason while its state is unsure', () => {
    const unknown = [{ ...refused, status: 503, problem: '503 SERVICE_UNAVAILABLE' }]
    const injected = injection({ kind: 'kill', victim: 'keys-1' })
    expect(broken({ seen: unknown, calls: [], rows: [], injected })).toEqual([])
    expect(broken({ seen: unknown, calls: [], rows: [] }).join()).toContain('503')
  })

  test('that reached a backend is found out, for any status of its response', () => {
    expect(broken({ seen: [refused] }).join()).toContain('dead key was answered 401 and reached a backend')
    const lost = [{ ...refused, requestId: null, status: null, problem: 'unreachable' }]
    const injected = injection({ kind: 'kill', victim: 'edge-1' })
    expect(broken({ seen: lost, injected }).join()).toContain('reached a backend')
  })
})

test('the gateway may count the text of a backend whose usage could not arrive, and nothing else', () => {
  const rows = [{ ...ROW, promptTokens: 12, charge: 17_000, estimated: true }]
  const windows = [{ account: 'tag-1', total: 17_000, sum: 17_000 }]
  const counted = { rows, windows, store: [{ ...STORE, settled: 17_000 }], seen: [{ ...SEEN, usage: null }] }
  const muted = (link: 'router-1:north' | 'router-1:south') => injection({ kind: 'mute', link, forMs: 500 })
  expect(broken({ ...counted, injected: muted('router-1:north') })).toEqual([])
  expect(broken({ ...counted, injected: muted('router-1:south') }).join()).toContain("the backend's log")
  expect(broken(counted).join()).toContain("the backend's log")
})

test('rows that a destroyed store held alone may be missing, and nothing else', () => {
  const injected = injection({ kind: 'stream-wiped' }, { destroyed: ['request-1'] })
  const pending = [{ ...STORE, known: false, records: ['request-1 ended 2026-11 15000'] }]
  const gone = { rows: [], windows: [], store: pending }
  expect(broken({ ...gone, injected })).toEqual([])
  expect(broken({ ...gone, injected: injection({ kind: 'stream-wiped' }, { destroyed: ['request-2'] }) })).toHaveLength(
    2,
  )
})

describe('a client that left', () => {
  const left = { ...SEEN, left: true, complete: false, done: false, text: 'beginning' as const, finishReason: null }
  const aborted = { ...CALL, outcome: 'aborted' as const }
  const partly = { ...ROW, reporter: 'router' as const, outcome: 'client_gone', delivered: false }
  const totals = { windows: [], store: [] }

  test('is charged no less than it was shown', () => {
    const facts = { ...totals, seen: [left], calls: [aborted] }
    expect(broken({ ...facts, rows: [partly] })).toEqual([])
    expect(broken({ ...facts, rows: [{ ...partly, completionTokens: 2, charge: 12_000 }] }).join()).toContain('3 words')
    expect(broken({ ...facts, rows: [{ ...partly, promptTokens: 0, charge: 5_000 }] }).join()).toContain('no prompt')
  })

  test('is charged although it was shown nothing, once a backend had accepted its request', () => {
    const early = { ...left, words: 0, requestId: null, headAtMs: null, status: null }
    const silent = { ...aborted, hasResponded: false, responseId: null }
    const facts = { ...totals, seen: [early], rows: [] }
    expect(broken({ ...facts, calls: [] })).toEqual([])
    expect(broken({ ...facts, calls: [silent] })).toEqual([])
    expect(broken({ ...facts, calls: [{ ...silent, endedAtMs: 1_900 }] }).join()).toContain('it has no row')
    expect(broken({ ...facts, calls: [aborted] }).join()).toContain('it has no row')
  })

  test('may have no row when a fault took the one who had to report, and no other', () => {
    const facts = { ...totals, seen: [left], calls: [aborted], rows: [] }
    expect(broken({ ...facts, injected: injection({ kind: 'kill', victim: 'router-2' }) })).toEqual([])
    expect(broken({ ...facts, injected: injection({ kind: 'kill', victim: 'metering-1' }) }).join()).toContain('no row')
    expect(broken({ ...facts, injected: injection({ kind: 'kill', victim: 'edge-2' }) }).join()).toContain('no row')
  })

  test('may have no row where its report was destroyed with the stream, however much later', () => {
    const facts = { ...totals, seen: [left], calls: [aborted], rows: [] }
    const later = { injectedAtMs: 60_000, healedAtMs: 62_000 }
    const wiped = (id: string) => injection({ kind: 'stream-wiped' }, { ...later, destroyed: [id] })
    expect(broken({ ...facts, injected: wiped('request-2') }).join()).toContain('no row')
    expect(broken({ ...facts, injected: wiped('request-1') })).toEqual([])
  })
})

test('tokens beyond the bucket are found out, also when clients hung up', () => {
  const requested = (count: number) => ({
    owners: [{ name: 'gusher', kind: 'gusher' as const, account: 'tag-1' }],
    seen: Array.from({ length: count }, (_, at) => ({
      ...SEEN,
      id: `r${at}`,
      owner: 'gusher',
      words: 340,
      left: true,
    })),
    calls: Array.from({ length: count }, (_, at) => ({ ...CALL, id: `r${at}`, startedAtMs: 1_000 * at })),
  })
  expect(broken(requested(20)).filter((what) => what.includes('within 60 s'))).toEqual([])
  expect(broken(requested(40)).join()).toContain('tokens passed within 60 s')
  // One that no router accepted in time runs again, and was admitted once.
  const again = requested(20)
  const twice = { ...again, calls: [...again.calls, ...again.calls.map((call) => ({ ...call, backend: 'south' }))] }
  expect(broken(twice).filter((what) => what.includes('within 60 s'))).toEqual([])
})

test('a response does not name its backend’s response: the call that came to its end has to agree with its row', () => {
  const seen = [{ ...SEEN, way: 'responses' as const, responseIds: [] }]
  const lost = { ...CALL, responseId: 'answer-0', outcome: 'aborted' as const, usage: null }
  expect(broken({ seen, calls: [lost, CALL] })).toEqual([])
  const other = { ...CALL, usage: { promptTokens: 10, completionTokens: 6 } }
  expect(broken({ seen, calls: [lost, other] }).join()).toContain("the backend's log 10 + 6 tokens")
})

describe('a request that is repeated under one Idempotency-Key', () => {
  const repeating = { ...SEEN, kind: 'repeating' as const }
  const failed = { ...repeating, requestId: 'request-0', complete: false, done: false, problem: 'cut' }
  const again = { ...ROW, requestId: 'request-0' }
  const callAgain = { ...CALL, requestId: 'request-0', responseId: 'answer-0' }
  const totals = { windows: [], store: [] }

  const facts = (row: Facts['rows'][number]) => {
    return { ...totals, seen: [failed, repeating], rows: [ROW, row], calls: [CALL, callAgain] }
  }
  const broke = { ...again, outcome: 'backend_failed', delivered: false }
  const lost = { ...broke, reporter: 'router' as const, outcome: 'edge_lost', isClaimed: true }
  const voided = { ...lost, charge: 0, voidedBy: 'request-1', voidedCharge: 15_000 }

  test('may fail before its response, and may be charged for the output of an attempt that broke', () => {
    expect(broken(facts(broke))).toEqual([])
  })

  test('is not charged for an attempt that lost its edge, whose row says which one is', () => {
    expect(broken(facts(voided))).toEqual([])
    expect(broken(facts({ ...lost, isClaimed: false }))).toEqual([])
    expect(broken(facts(lost)).join()).toContain('request-0 lost its edge and charges 15000')
    expect(broken(facts({ ...voided, voidedBy: 'request-7' })).join()).toContain('which answered nobody')
    expect(broken(facts({ ...voided, outcome: 'client_gone' })).join()).toContain('is void, and ended as client_gone')
    expect(broken(facts({ ...voided, charge: 1 })).join()).toContain('it is void and charges 1')
    expect(broken(facts({ ...voided, voidedCharge: 14_000 })).join()).toContain('it charges 14000')
  })

  test('has to get its response in the end', () => {
    expect(broken({ ...totals, seen: [failed], rows: [], calls: [] }).join()).toContain('not answered in 1 attempts')
  })

  test('has no row where its report was destroyed with the stream', () => {
    const unmetered = { ...totals, seen: [repeating], rows: [], calls: [CALL] }
    expect(broken(unmetered).join()).toContain('has no row')
    expect(
      broken({ ...unmetered, injected: injection({ kind: 'stream-wiped' }, { destroyed: ['request-1'] }) }),
    ).toEqual([])
  })

  test('runs to its end once, unless Redis was robbed of the response', () => {
    const twice = { ...totals, seen: [failed, repeating], rows: [ROW, again], calls: [CALL, callAgain] }
    expect(broken(twice)).toEqual(['it has run to its end 2 times'])
    expect(broken({ ...twice, injected: injection({ kind: 'redis-emptied' }) })).toEqual([])
  })
})

test('a client that harms others is found out', () => {
  const poison = { kind: 'poison', how: 'status', edge: 0, forMs: 1_000 } as const
  expect(broken({ injected: injection(poison, { harm: [] }) })).toEqual([])
  expect(broken({ injected: injection(poison, { harm: ['north was ejected'] }) })).toEqual([
    'fault 1: north was ejected',
  ])
})

test('a lane whose last target sends empty chunks may keep its client waiting, and no other lane may', () => {
  const refuse = (backend: 'north' | 'south') => injection({ kind: 'refuse', backend, forMs: 1_000 })
  const hung = (model: string) => [{ ...SEEN, model, complete: false, done: false, problem: 'hung' }]
  expect(broken({ seen: hung('hostile'), injected: refuse('south') })).toEqual([])
  expect(broken({ seen: hung('hostile'), injected: refuse('north') }).join()).toContain('hung')
  expect(broken({ seen: hung('flaky'), injected: refuse('south') }).join()).toContain('hung')
  expect(broken({ seen: hung('hostile') }).join()).toContain('hung')
})

test('a client’s hostile requests allow no failure of others', () => {
  const hostile = [
    { kind: 'poison', how: 'json', edge: 0, forMs: 1_000 },
    { kind: 'refused-bodies', edge: 0, forMs: 1_000 },
    { kind: 'endless', edge: 0, forMs: 1_000 },
  ] as const
  for (const fault of hostile) {
    const failed = { ...SEEN, complete: false, done: false, problem: '503 UPSTREAMS_EXHAUSTED' }
    expect(broken({ seen: [failed], injected: injection(fault, { harm: [] }) }).join()).toContain(
      '503 UPSTREAMS_EXHAUSTED',
    )
  }
})
