import { describe, expect, test } from 'vitest'
import type { Blame } from './backend-fault.ts'
import {
  afterFailedProbe,
  afterFault,
  afterStart,
  afterSuccess,
  isUsable,
  newHealth,
  type Health,
} from './backend-health.ts'

const hard: Blame = { on: 'backend', weight: 'hard' }
const soft: Blame = { on: 'backend', weight: 'soft' }
const fault = (health: Health, blame: Blame, now: number) => afterFault(health, blame, now, 0)

describe('the health of a backend', () => {
  test('one refused connection ejects it, for a second', () => {
    const ejected = fault(newHealth(), hard, 0)
    expect(isUsable(ejected, 999)).toBe(false)
    expect(isUsable(ejected, 1_000)).toBe(true)
  })

  test('three soft faults in a row eject it, a success between them does not let it come so far', () => {
    let health = fault(fault(newHealth(), soft, 0), soft, 1)
    expect(isUsable(health, 2)).toBe(true)
    expect(isUsable(fault(health, soft, 2), 3)).toBe(false)
    health = fault(afterSuccess(health, 2), soft, 3)
    expect(isUsable(health, 4)).toBe(true)
  })

  test('each ejection without a recovery lasts twice as long, up to a minute', () => {
    let health = newHealth()
    let now = 0
    const lasted: number[] = []
    for (let i = 0; i < 9; i++) {
      health = fault(health, hard, now)
      lasted.push(health.ejectedUntil - now)
      now = health.ejectedUntil
    }
    expect(lasted).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000])
  })

  test('back on trial it takes one request at a time, and a success ends the trial', () => {
    const ejected = fault(newHealth(), hard, 0)
    const onTrial = afterStart(ejected)
    expect(isUsable(onTrial, 2_000)).toBe(false)
    const well = afterSuccess(onTrial, 2_000)
    expect(isUsable(afterStart(well), 2_000)).toBe(true)
  })

  test('a soft fault on trial ejects at once', () => {
    const ejected = fault(newHealth(), hard, 0)
    expect(fault(ejected, soft, 1_000).ejectedUntil).toBe(3_000)
  })

  test('requests that were under way when it was ejected do not lengthen it', () => {
    const ejected = fault(newHealth(), hard, 0)
    expect(fault(ejected, hard, 500).ejectedUntil).toBe(1_000)
  })

  test('a minute without a fault forgets earlier ejections', () => {
    let health = fault(fault(newHealth(), hard, 0), hard, 1_000)
    health = afterSuccess(health, 4_000)
    expect(fault(health, hard, 5_000).ejectedUntil).toBe(9_000)
    health = afterSuccess(health, 70_000)
    expect(fault(health, hard, 70_000).ejectedUntil).toBe(71_000)
  })

  test('a 429 cools it for as long as it asked, without a mark', () => {
    const cooling = fault(newHealth(), { on: 'target', weight: 'soft', coolMs: 5_000 }, 0)
    expect(isUsable(cooling, 4_999)).toBe(false)
    expect(isUsable(cooling, 5_000)).toBe(true)
    expect(cooling.ejections).toBe(0)
  })

  test('a probe that finds it dead keeps it out for longer', () => {
    const ejected = fault(newHealth(), hard, 0)
    expect(afterFailedProbe(ejected, 900, 0).ejectedUntil).toBe(2_900)
  })
})
