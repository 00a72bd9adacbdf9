import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  createByteBudget,
  give,
  isCrowding,
  take,
  takeAnyway,
  type BodyBudget,
  type ByteBudget,
  type MemoryBudget,
} from './memory-budget.ts'

const MEGABYTE = 1024 * 1024
const LARGEST = 25 * MEGABYTE

test('guests at many addresses cannot take the memory of those who pay', () => {
  const budget = createByteBudget(512 * MEGABYTE, LARGEST)
  let guests = 0
  for (let address = 0; address < 100; address++)
    while (take(budget, 'guests', `address ${address}`, LARGEST) === 'taken') guests++
  expect(guests * LARGEST).toBeLessThanOrEqual(128 * MEGABYTE)
  expect(take(budget, 'accounts', 'a', LARGEST)).toBe('taken')
})

test('large bodies cannot take the memory of small ones', () => {
  const budget = createByteBudget(512 * MEGABYTE, LARGEST)
  for (let account = 0; account < 100; account++) take(budget, 'accounts', `account ${account}`, LARGEST)
  expect(take(budget, 'accounts', 'another', LARGEST)).toBe('full')
  expect(take(budget, 'unproven', 'address', 64 * 1024)).toBe('taken')
})

test('one sender has a part of a budget only, and learns that it is the one', () => {
  const budget = createByteBudget(512 * MEGABYTE, LARGEST)
  let bodies = 0
  while (take(budget, 'accounts', 'a', MEGABYTE) === 'taken') bodies++
  expect(bodies).toBe(192)
  expect(take(budget, 'accounts', 'a', MEGABYTE)).toBe('sender_full')
  expect(take(budget, 'accounts', 'b', MEGABYTE)).toBe('taken')
})

test.each<BodyBudget>(['guests', 'accounts'])(
  'however small the budget, it takes one body of the largest size: %s',
  (memoryBudget) => {
    expect(take(createByteBudget(MEGABYTE, LARGEST), memoryBudget, 'a', LARGEST)).toBe('taken')
  },
)

test('while unread responses are too many, the sender with most of them is found', () => {
  const budget = createByteBudget(8 * MEGABYTE, LARGEST)
  for (let reader = 0; reader < 20; reader++) takeAnyway(budget, 'answers', `slow ${reader}`, 10_000)
  takeAnyway(budget, 'answers', 'hostile', 2 * MEGABYTE)
  expect(isCrowding(budget, 'hostile')).toBe(false)
  takeAnyway(budget, 'answers', 'hostile', 2 * MEGABYTE)
  expect(isCrowding(budget, 'hostile')).toBe(true)
  expect(isCrowding(budget, 'slow 1')).toBe(false)
})

const usedOf = ({ memoryBudgets }: ByteBudget): number =>
  BUDGETS.reduce((sum, memoryBudget) => sum + memoryBudgets[memoryBudget].used, 0)
const BUDGETS: MemoryBudget[] = ['unproven', 'proving', 'guests', 'accounts', 'answers']
const step = fc.record({
  memoryBudget: fc.constantFrom(...BUDGETS),
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
      const held: { memoryBudget: MemoryBudget; sender: string; bytes: number }[] = []
      for (const { memoryBudget, sender, bytes, gives, anyway } of steps) {
        if (gives !== null) {
          const [back] = held.splice(gives, 1)
          if (back) give(budget, back.memoryBudget, back.sender, back.bytes)
        } else if (anyway || memoryBudget === 'answers') {
          takeAnyway(budget, memoryBudget, sender, bytes)
          held.push({ memoryBudget, sender, bytes })
        } else {
          const before = usedOf(budget)
          const taken = take(budget, memoryBudget, sender, bytes)
          if (taken === 'taken') held.push({ memoryBudget, sender, bytes })
          expect(usedOf(budget)).toBe(before + (taken === 'taken' ? bytes : 0))
          if (taken === 'taken')
            expect(budget.memoryBudgets[memoryBudget].used).toBeLessThanOrEqual(
              budget.memoryBudgets[memoryBudget].limit,
            )
        }
        const { used, limit, bySender } = budget.memoryBudgets.answers
        if (used > limit) expect([...bySender.keys()].some((one) => isCrowding(budget, one))).toBe(true)
      }
      for (const { memoryBudget, sender, bytes } of held) give(budget, memoryBudget, sender, bytes)
      for (const memoryBudget of BUDGETS)
        expect(budget.memoryBudgets[memoryBudget]).toMatchObject({ used: 0, bySender: new Map() })
    }),
  )
})
