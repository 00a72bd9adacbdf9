import { describe, expect, test } from 'vitest'
import { readTraceparent, requestFields, writeTraceparent } from './tracing.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'

describe('a traceparent', () => {
  test.each([
    ['sampled', `00-${TRACE}-${SPAN}-01`, true],
    ['not sampled', `00-${TRACE}-${SPAN}-00`, false],
    ['of a later version, with more behind', `01-${TRACE}-${SPAN}-03-what-comes-then`, true],
  ])('%s is read', (_, header, isSampled) => {
    expect(readTraceparent(header)).toEqual({ traceId: TRACE, spanId: SPAN, isSampled })
  })

  test.each([
    ['nothing', undefined],
    ['an empty one', ''],
    ['upper case', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ['version ff', `ff-${TRACE}-${SPAN}-01`],
    ['a trace id of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['a span id of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['one that is cut off', `00-${TRACE}-${SPAN}`],
    ['version 00 with more behind', `00-${TRACE}-${SPAN}-01-more`],
    ['two at once', `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
  ])('%s counts as none', (_, header) => {
    expect(readTraceparent(header)).toBeNull()
  })

  test('is written as it is read', () => {
    const header = `00-${TRACE}-${SPAN}-01`
    expect(writeTraceparent(readTraceparent(header)!)).toBe(header)
  })
})

test('log lines name the request, and its trace where there is one', () => {
  expect(requestFields('r1', undefined)).toEqual({ requestId: 'r1' })
  expect(requestFields('r1', `00-${TRACE}-${SPAN}-01`)).toEqual({ requestId: 'r1', traceId: TRACE })
})
