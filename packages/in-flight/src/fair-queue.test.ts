import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createFairQueue } from './fair-queue.ts'

interface Named {
  account: string
  name: string
}

function open(limit = 100) {
  const evicted: string[] = []
  const queue = createFairQueue<Named>(limit, (waiter) => evicted.push(waiter.name))
  const add = (account: string, name: string) => queue.add({ account, name })
  const takeAll = () => {
    const names: string[] = []
    for (let next = queue.take(() => true); next; next = queue.take(() => true)) names.push(next.name)
    return names
  }
  return { queue, add, takeAll, evicted }
}

describe('waiting in turn', () => {
  test('accounts take turns, and within one the first comes first', () => {
    const { add, takeAll } = open()
    for (const name of ['a1', 'a2', 'a3']) add('a', name)
    add('b', 'b1')
    add('c', 'c1')
    expect(takeAll()).toEqual(['a1', 'b1', 'c1', 'a2', 'a3'])
  })

  test('a waiter that does not want the offer keeps its turn', () => {
    const { queue, add, takeAll } = open()
    add('a', 'a1')
    add('b', 'b1')
    expect(queue.take(({ account }) => account === 'b')?.name).toBe('b1')
    expect(takeAll()).toEqual(['a1'])
  })

  test('a full queue admits a small account at the cost of the largest', () => {
    const { add, takeAll, evicted } = open(3)
    for (const name of ['a1', 'a2', 'a3']) add('a', name)
    expect(add('a', 'a4')).toBe(false)
    expect(add('b', 'b1')).toBe(true)
    expect(evicted).toEqual(['a3'])
    expect(takeAll()).toEqual(['a1', 'b1', 'a2'])
  })

  test('it never holds more than its limit, loses nobody, and serves nobody twice', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'b', 'c', 'take')), (steps) => {
        const { queue, add, takeAll, evicted } = open(4)
        const added: string[] = []
        const served: string[] = []
        steps.forEach((step, i) => {
          if (step === 'take') {
            const next = queue.take(() => true)
            if (next) served.push(next.name)
          } else if (add(step, `${step}${i}`)) added.push(`${step}${i}`)
          expect(queue.size).toBeLessThanOrEqual(4)
        })
        expect([...served, ...takeAll(), ...evicted].sort()).toEqual(added.sort())
      }),
    )
  })
})
