import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { FailedBodies, type Body } from './failed-bodies.ts'

const body = (digest: string, bytes = 100): Body => ({ bytes, digest: () => digest })
const at = (key: string) => ({ key, backend: key.split('/')[0]! })

test('a body that fails three times in a row at a target goes elsewhere first, for half a minute', () => {
  const failed = new FailedBodies()
  for (let i = 0; i < 2; i++) failed.recordFailure(body('x'), at('a/m'), i)
  expect(failed.avoids(body('x'), 'a/m', 2)).toBe(false)
  failed.recordFailure(body('x'), at('a/m'), 2)
  expect(failed.avoids(body('x'), 'a/m', 3)).toBe(true)
  expect(failed.avoids(body('x'), 'b/m', 3)).toBe(false)
  expect(failed.avoids(body('y'), 'a/m', 3)).toBe(false)
  expect(failed.avoids(body('x'), 'a/m', 30_002)).toBe(false)
})

test('a success there forgets it', () => {
  const failed = new FailedBodies()
  for (let i = 0; i < 3; i++) failed.recordFailure(body('x'), at('a/m'), i)
  failed.recordSuccess(body('x'), 'a/m')
  expect(failed.avoids(body('x'), 'a/m', 3)).toBe(false)
})

test('models of one backend are no second backend', () => {
  const failed = new FailedBodies()
  failed.recordFailure(body('x'), at('a/m'), 0)
  failed.recordFailure(body('x'), at('a/n'), 0)
  expect(failed.failsElsewhere(body('x'), 'a')).toBe(false)
  failed.recordFailure(body('x'), at('b/m'), 0)
  expect(failed.failsElsewhere(body('x'), 'a')).toBe(true)
})

test('a request whose length is not remembered is not hashed', () => {
  const failed = new FailedBodies()
  const digest = vi.fn<() => string>(() => 'y')
  failed.recordFailure(body('x', 100), at('a/m'), 0)
  expect(failed.avoids({ bytes: 101, digest }, 'a/m', 0)).toBe(false)
  expect(digest).not.toHaveBeenCalled()
})

test('any number of failures takes bounded memory, and the newest ones are remembered', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(4_000), { minLength: 2_000, maxLength: 5_000, size: 'max' }), (names) => {
      const failed = new FailedBodies()
      for (const [i, name] of names.entries()) failed.recordFailure(body(`${name}`, name % 7), at('a/m'), i)
      const distinct = [...new Set([...names].reverse())]
      const known = distinct.filter((name) => failed.failsElsewhere(body(`${name}`, name % 7), 'b'))
      expect(known).toEqual(distinct.slice(0, 1_024))
    }),
    { numRuns: 10 },
  )
})
