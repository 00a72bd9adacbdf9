import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  createByteBudget,
  give,
  isCrowding,
  take,
  takeAnyway,
  type BodyPot,
  type ByteBudget,
  type Pot,
} from './byte-budget.ts'

const MEGABYTE = 1024 * 1024
const LARGEST = 25 * MEGABYTE

test('guests at many addresses cannot take the room of those who pay', () => {
  const budget = createByteBudget(512 * MEGABYTE, LARGEST)
  let guests = 0
  for (let address = 0; address < 100; address++)
    while (take(budget, 'guests', `address ${address}`, LARGEST) === 'taken') guests++
  expect(guests * LARGEST).toBeLessThanOrEqual(128 * MEGABYTE)
  expect(take(budget, 'accounts', 'a', LARGEST)).toBe('taken')
})

test('large bodies cannot take the room of small ones', () => {
  const budget = createByteBudget(512 * MEGABYTE, LARGEST)
  for (let account = 0; account < 100; account++) take(budget, 'accounts', `account ${account}`, LARGEST)
  expect(take(budget, 'accounts', 'another', LARGEST)).toBe('full')
  expect(take(budget, 'unproven', 'address', 64 * 1024)).toBe('taken')
})

test('one sender has a part of a pot only, and is told that it is the one', () => {
  const budget = createByteBudget(512 * MEGABYTE, LARGEST)
  let bodies = 0
  while (take(budget, 'accounts', 'a', MEGABYTE) === 'taken') bodies++
  expect(bodies).toBe(192)
  expect(take(budget, 'accounts', 'a', MEGABYTE)).toBe('sender_full')
  expect(take(budget, 'accounts', 'b', MEGABYTE)).toBe('taken')
})

test.each<BodyPot>(['guests', 'accounts'])(
  'however small the budget, one body of the largest size has room: %s',
  (pot) => {
    expect(take(createByteBudget(MEGABYTE, LARGEST), pot, 'a', LARGEST)).toBe('taken')
  },
)

test('while unread answers are too many, whoever has most of them is found', () => {
  const budget = createByteBudget(8 * MEGABYTE, LARGEST)
  for (let reader = 0; reader < 20; reader++) takeAnyway(budget, 'answers', `slow ${reader}`, 10_000)
  takeAnyway(budget, 'answers', 'hostile', 2 * MEGABYTE)
  expect(isCrowding(budget, 'hostile')).toBe(false)
  takeAnyway(budget, 'answers', 'hostile', 2 * MEGABYTE)
  expect(isCrowding(budget, 'hostile')).toBe(true)
  expect(isCrowding(budget, 'slow 1')).toBe(false)
})

const usedOf = ({ pots }: ByteBudget): number => POTS.reduce((sum, pot) => sum + pots[pot].used, 0)
const POTS: Pot[] = ['unproven', 'proving', 'guests', 'accounts', 'answers']
const step = fc.record({
  pot: fc.constantFrom(...POTS),
  sender: fc.constantFrom('a', 'b', 'c'),
  bytes: fc.integer({ min: 0, max: 2 * LARGEST }),
  /** Gives back the one that stands so far in the list. */
  gives: fc.option(fc.nat(20)),
  anyway: fc.boolean(),
})

test('no sequence of takes and gives passes a limit or leaves anything behind', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_024 }), fc.array(step, { maxLength: 60 }), (megabytes, steps) => {
      const budget = createByteBudget(megabytes * MEGABYTE, LARGEST)
      const held: { pot: Pot; sender: string; bytes: number }[] = []
      for (const { pot, sender, bytes, gives, anyway } of steps) {
        if (gives !== null) {
          const [back] = held.splice(gives, 1)
          if (back) give(budget, back.pot, back.sender, back.bytes)
        } else if (anyway || pot === 'answers') {
          takeAnyway(budget, pot, sender, bytes)
          held.push({ pot, sender, bytes })
        } else {
          const before = usedOf(budget)
          const taken = take(budget, pot, sender, bytes)
          if (taken === 'taken') held.push({ pot, sender, bytes })
          expect(usedOf(budget)).toBe(before + (taken === 'taken' ? bytes : 0))
          if (taken === 'taken') expect(budget.pots[pot].used).toBeLessThanOrEqual(budget.pots[pot].limit)
        }
        const { used, limit, bySender } = budget.pots.answers
        if (used > limit) expect([...bySender.keys()].some((one) => isCrowding(budget, one))).toBe(true)
      }
      for (const { pot, sender, bytes } of held) give(budget, pot, sender, bytes)
      for (const pot of POTS) expect(budget.pots[pot]).toMatchObject({ used: 0, bySender: new Map() })
    }),
  )
})
