import { describe, expect, it } from 'vitest'
import {
  connectionChanged,
  createLiveness,
  sawOurselves,
  isLost,
  isRecovering,
  tick,
  type Liveness,
} from './liveness.ts'

const timing = { lostAfterMs: 3_000, graceMs: 3_000, outageMs: 30_000, tickMs: 250, heartbeatMs: 1_000 }

/** A process that has heard its own heartbeats until then. */
function livenessAt(nowMs: number): Liveness {
  const liveness = createLiveness(timing, nowMs - 250)
  tick(liveness, nowMs, 250)
  sawOurselves(liveness, nowMs)
  return liveness
}

describe('a silent peer', () => {
  it('is lost after three seconds', () => {
    const liveness = livenessAt(13_000)
    expect([isLost(liveness, 10_000, 13_000), isLost(liveness, 10_000, 13_001)]).toEqual([false, true])
  })

  it('is not lost while our own connection is down, nor for three seconds after', () => {
    const liveness = livenessAt(10_000)
    connectionChanged(liveness, false, 10_000)
    expect(isLost(liveness, 9_000, 25_000)).toBe(false)
    connectionChanged(liveness, true, 25_000)
    sawOurselves(liveness, 26_400)
    sawOurselves(liveness, 27_400)
    expect([isLost(liveness, 9_000, 27_999), isLost(liveness, 9_000, 28_000)]).toEqual([false, true])
  })

  it('is not lost while our own heartbeats do not come back either, nor for three seconds after', () => {
    const liveness = livenessAt(10_000)
    expect(isLost(liveness, 9_000, 20_000)).toBe(false)
    sawOurselves(liveness, 20_000)
    sawOurselves(liveness, 21_400)
    sawOurselves(liveness, 22_800)
    expect([isLost(liveness, 9_000, 22_999), isLost(liveness, 9_000, 23_000)]).toEqual([false, true])
  })

  it('is lost when we hear nobody for half a minute', () => {
    const liveness = livenessAt(10_000)
    expect([isLost(liveness, 9_000, 40_000), isLost(liveness, 9_000, 40_001)]).toEqual([false, true])
    connectionChanged(liveness, false, 11_000)
    expect([isLost(liveness, 9_000, 40_000), isLost(liveness, 9_000, 40_001)]).toEqual([false, true])
  })

  it('is not lost for the time that we slept through ourselves', () => {
    const liveness = livenessAt(250)
    expect(tick(liveness, 900, 250)).toBe(0)
    expect(tick(liveness, 20_900, 250)).toBe(19_750)
    liveness.sawOurselvesAtMs = 23_900
    expect([isLost(liveness, 900, 23_899), isLost(liveness, 900, 23_900)]).toEqual([false, true])
  })
})

describe('a missing responder', () => {
  it('may still be reconnecting for three seconds after an outage, and only then', () => {
    const liveness = livenessAt(1)
    expect(isRecovering(liveness, 1)).toBe(false)
    connectionChanged(liveness, false, 1_000)
    connectionChanged(liveness, true, 2_000)
    expect([isRecovering(liveness, 4_999), isRecovering(liveness, 5_000)]).toEqual([true, false])
  })
})
