import { describe, expect, it } from 'vitest'
import { countSent, createFlight, echo, inFlightBytes, mayFly, takeMark } from './flow-control.ts'

describe('the bytes in flight to a process', () => {
  it('are what was sent after the last mark that came back', () => {
    const flight = createFlight(100, 30)
    expect([countSent(flight, 29), countSent(flight, 1)]).toEqual([false, true])
    const first = takeMark(flight, 0)
    countSent(flight, 70)
    expect(mayFly(flight)).toBe(false)
    echo(flight, first)
    expect([inFlightBytes(flight), mayFly(flight)]).toEqual([70, true])
  })

  it('are cleared by a later mark when an earlier one or its echo was lost', () => {
    const flight = createFlight(100, 30)
    countSent(flight, 50)
    const lost = takeMark(flight, 5)
    countSent(flight, 50)
    const later = takeMark(flight, 7)
    expect(echo(flight, later)).toBe(7)
    expect(inFlightBytes(flight)).toBe(0)
    expect([echo(flight, lost), echo(flight, later)]).toEqual([null, null])
    expect(inFlightBytes(flight)).toBe(0)
  })
})
