import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  afterContent,
  afterEnd,
  afterFailure,
  afterProbe,
  afterStart,
  afterSuccess,
  isUsable,
  newHealth,
  type Attempt,
  type AttributedFailure,
  type Health,
  usableFromMs,
  viewHealth,
} from './backend-health.ts'

let bodies = 0
const hard: AttributedFailure = { on: 'backend', weight: 'hard', outcome: 'connect', body: '', failsElsewhere: false }
/** Each of another request, unless stated otherwise. */
const softOf = (body: string): AttributedFailure => ({
  ...{ on: 'backend', weight: 'soft', outcome: 'http_500', body, failsElsewhere: false },
})
const soft = () => softOf(`body ${bodies++}`)
const at = (startedAtMs: number, account = 'alice'): Attempt => ({ startedAtMs, account })
/** Of an attempt that has only just begun, unless stated otherwise. */
const failure = (health: Health, attribution: AttributedFailure, now: number, attempt = at(now)) =>
  afterFailure(health, attempt, attribution, now, 0)

describe('the health of a backend', () => {
  test('one refused connection ejects it, for a second', () => {
    const ejected = failure(newHealth(), hard, 0)
    expect(isUsable(ejected, 999)).toBe(false)
    expect(isUsable(ejected, 1_000)).toBe(true)
  })

  test('three soft failures in a row eject it, a success between them does not let it come so far', () => {
    let health = failure(failure(newHealth(), soft(), 0), soft(), 1)
    expect(isUsable(health, 2)).toBe(true)
    expect(isUsable(failure(health, soft(), 2), 3)).toBe(false)
    health = failure(afterSuccess(health, at(2), 2), soft(), 3)
    expect(isUsable(health, 4)).toBe(true)
  })

  test('the first content alone does not interrupt failures in a row: a response can still break', () => {
    const health = failure(failure(newHealth(), soft(), 0), soft(), 1)
    expect(isUsable(failure(afterContent(health, at(2), 2), soft(), 3, at(2)), 4)).toBe(false)
  })

  test('each ejection without a recovery lasts twice as long, up to a minute', () => {
    let health = newHealth()
    let now = 0
    const lasted: number[] = []
    for (let i = 0; i < 9; i++) {
      health = failure(health, hard, now)
      lasted.push(health.ejectedUntilMs - now)
      now = health.ejectedUntilMs
    }
    expect(lasted).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000])
  })

  test('requests that were under way when it was ejected do not lengthen it, then or later', () => {
    const ejected = failure(newHealth(), hard, 100)
    expect(failure(ejected, hard, 500).ejectedUntilMs).toBe(1_100)
    expect(failure(ejected, hard, 5_000, at(50)).ejectedUntilMs).toBe(1_100)
  })

  test('nor do they bring it back', () => {
    const ejected = failure(newHealth(), hard, 100)
    expect(afterContent(ejected, at(50), 500)).toBe(ejected)
    expect(afterSuccess(ejected, at(50), 500)).toBe(ejected)
  })

  test('one that responded to a request of last resort while it was out is back', () => {
    const ejected = failure(newHealth(), hard, 0)
    expect(isUsable(afterContent(ejected, at(500), 600), 600)).toBe(true)
  })

  test('a minute without a failure forgets earlier ejections', () => {
    let health = failure(failure(newHealth(), hard, 0), hard, 1_000)
    health = afterSuccess(health, at(4_000), 4_000)
    expect(failure(health, hard, 5_000).ejectedUntilMs).toBe(9_000)
    health = afterSuccess(health, at(70_000), 70_000)
    expect(failure(health, hard, 70_000).ejectedUntilMs).toBe(71_000)
  })

  test('a 429 cools it for the requested time, without a mark', () => {
    const cooling = failure(newHealth(), { ...softOf(''), coolMs: 5_000 }, 0)
    expect(isUsable(cooling, 4_999)).toBe(false)
    expect(isUsable(cooling, 5_000)).toBe(true)
    expect(cooling.ejections).toBe(0)
  })
})

describe('requests that no target survives', () => {
  const times = (count: number, health: Health, of: (i: number) => [string, AttributedFailure]) => {
    for (let i = 0; i < count; i++) {
      const [account, attributed] = of(i)
      health = afterFailure(health, at(i, account), attributed, i, 0)
    }
    return health
  }

  test('count once, however often the same one is sent', () => {
    const health = times(10, newHealth(), () => ['alice', softOf('poison')])
    expect(isUsable(health, 10, 'alice')).toBe(true)
  })

  test('count once for all accounts, if they fail at other backends as well', () => {
    const poison = { ...softOf('poison'), failsElsewhere: true }
    expect(
      isUsable(
        times(10, newHealth(), (i) => [`account ${i}`, poison]),
        10,
      ),
    ).toBe(true)
    expect(
      isUsable(
        times(3, newHealth(), (i) => [`account ${i}`, softOf('poison')]),
        10,
      ),
    ).toBe(false)
  })

  const outForAlice = times(3, newHealth(), () => ['alice', soft()])

  test('of one account put the target out for that account alone', () => {
    expect(isUsable(outForAlice, 10, 'alice')).toBe(false)
    expect(isUsable(outForAlice, 10, 'bob')).toBe(true)
    expect(isUsable(outForAlice, 10)).toBe(false)
  })

  test('put it out for all with the first failure that another account meets, also one that was under way', () => {
    for (const began of [0, 10]) {
      const health = afterFailure(outForAlice, at(began, 'bob'), soft(), 11, 0)
      expect(isUsable(health, 12, 'carol')).toBe(false)
    }
  })

  test('are forgotten when another account is served', () => {
    const health = afterSuccess(outForAlice, at(10, 'bob'), 11)
    expect(isUsable(health, 11)).toBe(true)
    expect(isUsable(afterFailure(health, at(12, 'bob'), soft(), 12, 0), 13, 'bob')).toBe(true)
  })

  test('fail a half-open attempt for their account alone: the others try, one at a time', () => {
    const dead = afterFailure(newHealth(), at(0), hard, 0, 0)
    const halfOpenAttempt = at(1_000, 'alice')
    let health = afterFailure(afterStart(dead, halfOpenAttempt), halfOpenAttempt, soft(), 1_001, 0)
    expect(isUsable(health, 1_002, 'alice')).toBe(false)
    expect(isUsable(health, 1_002, 'bob')).toBe(true)
    const second = at(1_002, 'bob')
    health = afterStart(health, second)
    expect(isUsable(health, 1_003, 'carol')).toBe(false)
    expect(isUsable(afterContent(health, second, 1_004), 1_005, 'alice')).toBe(true)
    expect(isUsable(afterEnd(afterFailure(health, second, soft(), 1_004, 0), second), 1_005, 'carol')).toBe(false)
  })

  test('of the only account that there is put the target out for as long as ever', () => {
    let health = newHealth()
    const lasted: number[] = []
    let now = 0
    for (let i = 0; i < 5; i++) {
      health = afterFailure(health, at(now), soft(), now, 0)
      if (isUsable(health, now, 'alice')) continue
      lasted.push(health.ejectedUntilMs - now)
      now = health.ejectedUntilMs
      health = afterStart(health, at(now))
    }
    expect(lasted).toEqual([1_000, 2_000, 4_000])
  })
})

describe('a half-open attempt', () => {
  const ejected = failure(newHealth(), hard, 0)
  const halfOpenAttempt = at(1_000)
  const halfOpen = afterStart(ejected, halfOpenAttempt)

  test('is one request at a time, and its first content ends it', () => {
    expect(isUsable(halfOpen, 2_000)).toBe(false)
    const well = afterContent(halfOpen, halfOpenAttempt, 2_000)
    expect(isUsable(afterStart(well, at(2_000)), 2_000)).toBe(true)
  })

  test('that stays silent keeps others away for five seconds, not for as long as a plain response may last', () => {
    expect(isUsable(halfOpen, 5_999)).toBe(false)
    expect(isUsable(halfOpen, 6_000)).toBe(true)
    const next = at(6_000)
    const both = afterStart(halfOpen, next)
    expect(isUsable(both, 6_001)).toBe(false)
    expect(afterContent(both, halfOpenAttempt, 7_000).halfOpen).toBe(false)
    expect(afterContent(both, next, 7_000).halfOpen).toBe(false)
  })

  test('that proves nothing leaves the next request to be one', () => {
    expect(isUsable(afterEnd(halfOpen, halfOpenAttempt), 2_000)).toBe(true)
  })

  test('is not ended by another attempt', () => {
    expect(afterEnd(halfOpen, at(1_000))).toBe(halfOpen)
  })

  test('is no attempt of the last resort that began while it was out', () => {
    expect(afterStart(ejected, at(500))).toBe(ejected)
  })

  test('that fails ejects at once, though its failure is a soft one; that of another does not', () => {
    expect(failure(halfOpen, soft(), 1_000, halfOpenAttempt).ejectedUntilMs).toBe(3_000)
    expect(failure(halfOpen, soft(), 1_000, at(900)).halfOpenAttempt).toBe(halfOpenAttempt)
  })

  test('outweighs a probe that began before it', () => {
    expect(afterProbe(halfOpen, at(900), 'dead', 5_000, 0)).toBe(halfOpen)
  })
})

describe('a probe', () => {
  const ejected = failure(newHealth(), hard, 0)

  test('that finds it dead keeps it out for longer', () => {
    expect(afterProbe(ejected, at(700), 'dead', 900, 0).ejectedUntilMs).toBe(2_900)
    expect(afterProbe(ejected, at(700), 'failing', 900, 0).ejectedUntilMs).toBe(2_900)
    expect(afterProbe(ejected, at(700), 'alive', 900, 0)).toBe(ejected)
  })

  test('that began before the last ejection says nothing of it', () => {
    const again = failure(ejected, hard, 1_000)
    expect(afterProbe(again, at(700), 'dead', 1_500, 0)).toBe(again)
  })

  test('that fails while the backend responds does not keep it out for good: a request decides', () => {
    let health = ejected
    for (let i = 0; i < 10; i++) {
      health = afterProbe(health, at(health.ejectedUntilMs - 1), 'failing', health.ejectedUntilMs, 0)
    }
    expect(isUsable(health, health.ejectedUntilMs)).toBe(true)
    expect(health.ejections).toBe(7)
  })
})

test('no sequence keeps a target out once nothing runs there and its time is over', () => {
  const step = fc.record({
    what: fc.constantFrom('start', 'content', 'success', 'hard', 'soft', 'cool', 'nothing', 'probe'),
    which: fc.nat(5),
    afterMs: fc.nat(3_000),
    account: fc.constantFrom('alice', 'bob'),
    body: fc.constantFrom('one', 'two', 'three', 'four'),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let now = 0
      let health = newHealth()
      const running: Attempt[] = []
      for (const { what, which, afterMs, account, body } of steps) {
        now += afterMs
        if (what === 'start') {
          const attempt = at(now, account)
          running.push(attempt)
          health = afterStart(health, attempt)
          continue
        }
        if (what === 'probe') {
          health = afterProbe(health, at(now - 300), 'dead', now, 0)
          continue
        }
        const attempt = running[which % running.length]
        if (!attempt) continue
        if (what === 'content') {
          health = afterContent(health, attempt, now)
          continue
        }
        if (what === 'success') health = afterSuccess(health, attempt, now)
        if (what === 'hard') health = afterFailure(health, attempt, hard, now, 0)
        if (what === 'soft') health = afterFailure(health, attempt, softOf(body), now, 0)
        if (what === 'cool') health = afterFailure(health, attempt, { ...soft(), coolMs: 2_000 }, now, 0)
        health = afterEnd(health, attempt)
        running.splice(running.indexOf(attempt), 1)
      }
      for (const attempt of running) health = afterEnd(health, attempt)
      expect(usableFromMs(health)).toBeLessThanOrEqual(now + 60_000)
      const last = at(now + 60_000)
      health = afterEnd(afterContent(afterStart(health, last), last, last.startedAtMs), last)
      expect(health).toMatchObject({ halfOpen: false, halfOpenAttempt: null, ejectedUntilMs: expect.any(Number) })
    }),
    { numRuns: 2_000 },
  )
})

const WALL_MS = Date.parse('2026-11-20T10:00:00Z')
const clocks = (nowMs: number) => ({ nowMs, wallMs: WALL_MS + nowMs })

test('an operator is informed how a target is, and until when', () => {
  const cooling = afterFailure(newHealth(), at(100), { ...softOf(''), coolMs: 5_000 }, 100, 0)
  const ejected = afterFailure(cooling, at(200), hard, 200, 0)
  expect(viewHealth(newHealth(), clocks(0))).toEqual({ state: 'healthy', untilMs: null })
  expect(viewHealth(cooling, clocks(150))).toEqual({ state: 'cooling', untilMs: WALL_MS + 5_100 })
  const ejection = { sinceMs: WALL_MS + 200, cause: 'connect' }
  expect(viewHealth(ejected, clocks(300))).toEqual({ state: 'ejected', untilMs: WALL_MS + 1_200, ...ejection })
  expect(viewHealth(ejected, clocks(1_200))).toEqual({ state: 'cooling', untilMs: WALL_MS + 5_100 })
  expect(viewHealth(ejected, clocks(5_100))).toEqual({ state: 'on_trial', untilMs: null, ...ejection })
  expect(viewHealth(afterSuccess(ejected, at(5_200), 5_200), clocks(5_200))).toEqual({
    state: 'healthy',
    untilMs: null,
  })
})

test('an operator sees since when a target is out, over all ejections since its last recovery, and the last reason', () => {
  const first = failure(newHealth(), hard, 1_000)
  const again = failure(first, { ...hard, outcome: 'http_401' }, 2_500)
  const probed = afterProbe(again, at(4_400), 'dead', 4_500, 0)
  expect(viewHealth(again, clocks(2_500))).toMatchObject({ sinceMs: WALL_MS + 1_000, cause: 'http_401' })
  expect(viewHealth(probed, clocks(4_500))).toMatchObject({ sinceMs: WALL_MS + 1_000, cause: 'probe' })
  const back = afterSuccess(probed, at(9_000), 9_100)
  expect(viewHealth(back, clocks(9_100))).toEqual({ state: 'healthy', untilMs: null })
  expect(viewHealth(failure(back, hard, 9_500), clocks(9_500))).toMatchObject({ sinceMs: WALL_MS + 9_500 })
})
