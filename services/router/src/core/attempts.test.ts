import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { attemptBudgetMs, chooseTarget, type Candidate } from './attempts.ts'

function candidate(key: string, overrides: Partial<Candidate> = {}): Candidate {
  return {
    key,
    priority: 1,
    weight: 1,
    outstanding: 0,
    full: false,
    usable: true,
    avoided: false,
    fitsPrompt: true,
    isNative: true,
    ...overrides,
  }
}

const anyCandidate = fc.record({
  priority: fc.integer({ min: 1, max: 3 }),
  weight: fc.integer({ min: 1, max: 10 }),
  outstanding: fc.nat(20),
  full: fc.boolean(),
  usable: fc.boolean(),
  avoided: fc.boolean(),
  fitsPrompt: fc.boolean(),
  isNative: fc.boolean(),
})
const anyPool = fc
  .array(anyCandidate, { minLength: 1, maxLength: 8 })
  .map((list) => list.map((entry, i): Candidate => ({ ...entry, key: `t${i}` })))
const anyRandom = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

function chosenKey(
  candidates: Candidate[],
  options: { affinityKey?: string; random?: () => number } = {},
): string | null {
  const choice = chooseTarget(candidates, { random: () => 0.5, ...options })
  return choice.kind === 'target' ? choice.target.key : null
}

describe('choosing a target', () => {
  test('every distinct target is offered exactly once, usable ones first', () => {
    fc.assert(
      fc.property(anyPool, anyRandom, (pool, random) => {
        let untried = pool.map((entry) => ({ ...entry, full: false }))
        const order: Candidate[] = []
        for (;;) {
          const choice = chooseTarget(untried, { random: () => random })
          if (choice.kind !== 'target') break
          order.push(choice.target)
          untried = untried.filter((entry) => entry !== choice.target)
        }
        expect(order.map(({ key }) => key).sort()).toEqual(pool.map(({ key }) => key))
        const fitting = order.filter(({ fitsPrompt }) => fitsPrompt).map(({ usable }) => usable)
        expect(fitting).toEqual([...fitting].sort((a, b) => Number(b) - Number(a)))
      }),
    )
  })

  test('a target that speaks the client’s dialect goes before one of its priority and health that does not', () => {
    const translated = candidate('translated', { isNative: false })
    expect(chosenKey([translated, candidate('native', { outstanding: 9 })])).toBe('native')
    expect(chosenKey([translated, candidate('native', { priority: 2 })])).toBe('translated')
    expect(chosenKey([translated, candidate('native', { full: true })])).toBe('translated')
    expect(chosenKey([translated, candidate('native', { usable: false })])).toBe('translated')
    expect(chosenKey([translated, candidate('native')], { affinityKey: 'any' })).toBe('native')
  })

  test('a free target of the best rank is never passed over for a wait', () => {
    fc.assert(
      fc.property(anyPool, anyRandom, (pool, random) => {
        const choice = chooseTarget(pool, { random: () => random })
        const offered = choice.kind === 'wait' ? choice.targets : choice.kind === 'target' ? [choice.target] : []
        expect(offered.length).toBeGreaterThan(0)
        expect(offered.every(({ full }) => full === (choice.kind === 'wait'))).toBe(true)
      }),
    )
  })

  test('the lower priority number goes first, and the next one takes over when it is full', () => {
    const pool = [candidate('a', { priority: 1, outstanding: 9 }), candidate('b', { priority: 2 })]
    expect(chosenKey(pool)).toBe('a')
    expect(chosenKey([{ ...pool[0]!, full: true }, pool[1]!])).toBe('b')
  })

  test('the least outstanding work for its weight wins', () => {
    expect(chosenKey([candidate('a', { outstanding: 3, weight: 3 }), candidate('b', { outstanding: 2 })])).toBe('a')
    expect(chosenKey([candidate('a', { outstanding: 4, weight: 2 }), candidate('b', { outstanding: 1 })])).toBe('b')
  })

  test('equal targets share traffic by weight, and none starves', () => {
    const pool = [candidate('a', { weight: 3 }), candidate('b', { weight: 1 })]
    const counts = { a: 0, b: 0 }
    for (let i = 0; i < 400; i++) counts[chosenKey(pool, { random: () => i / 400 }) as 'a' | 'b']++
    expect(counts).toEqual({ a: 300, b: 100 })
  })

  test('a target that cannot hold the prompt is tried after those that can', () => {
    expect(chosenKey([candidate('small', { fitsPrompt: false }), candidate('large', { priority: 2 })])).toBe('large')
  })

  test('ejected targets are tried last rather than never', () => {
    expect(chosenKey([candidate('a', { usable: false }), candidate('b', { priority: 3 })])).toBe('b')
    expect(chosenKey([candidate('a', { usable: false })])).toBe('a')
  })
})

describe('affinity', () => {
  const keys = Array.from({ length: 2_000 }, (_, i) => `conversation-${i}`)
  const pool = ['a', 'b', 'c', 'd'].map((key) => candidate(key))

  test('a conversation stays with its target', () => {
    for (const affinityKey of keys.slice(0, 50)) {
      const first = chosenKey(pool, { affinityKey, random: () => 0 })
      expect(chosenKey(pool.toReversed(), { affinityKey, random: () => 0.9 })).toBe(first)
    }
  })

  test('losing a target moves only the conversations that it held', () => {
    const moved: string[] = []
    for (const affinityKey of keys) {
      const before = chosenKey(pool, { affinityKey })
      const after = chosenKey(
        pool.filter(({ key }) => key !== 'b'),
        { affinityKey },
      )
      if (before !== 'b' && before !== after) moved.push(affinityKey)
    }
    expect(moved).toEqual([])
  })

  test('conversations spread evenly', () => {
    const counts = new Map<string, number>()
    for (const affinityKey of keys) {
      const key = chosenKey(pool, { affinityKey })!
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
    for (const { key } of pool) expect(counts.get(key)).toBeGreaterThan(400)
  })

  test('an overloaded target lets its conversations go', () => {
    const affinityKey = keys[0]!
    const home = chosenKey(pool, { affinityKey })
    const loaded = pool.map((entry) => ({ ...entry, outstanding: entry.key === home ? 40 : 1 }))
    expect(chosenKey(loaded, { affinityKey })).not.toBe(home)
  })
})

describe('the budget of an attempt', () => {
  test('all attempts together never pass the remaining time, and the last may use all of it', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 600_000 }), fc.integer({ min: 1, max: 10 }), (totalMs, targets) => {
        let remainingMs = totalMs
        for (let untried = targets; untried > 0; untried--) {
          const budget = attemptBudgetMs(remainingMs, untried)
          expect(budget).toBeGreaterThanOrEqual(0)
          expect(budget).toBeLessThanOrEqual(remainingMs)
          expect(untried > 1 || budget === remainingMs).toBe(true)
          remainingMs -= budget
        }
        expect(remainingMs).toBe(0)
      }),
    )
  })
})
