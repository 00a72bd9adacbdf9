import fc from 'fast-check'
import { expect, test } from 'vitest'
import { waitableBytes, type Waiting, WaitingLine } from './waiting-line.ts'

const waiting = (at: number, bytes = 0, isGone = false): Waiting & { at: number } => ({
  at,
  response: { destroyed: isGone },
  bytes,
  untilMs: at,
  run() {},
  refuse() {},
})

test('while any clients come and leave, requests go on in the order of arrival, and each of them once', () => {
  const event = fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('add' as const), isGone: fc.boolean() }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('take' as const), isGone: fc.boolean() }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('due' as const), isGone: fc.boolean() }) },
  )
  fc.assert(
    fc.property(fc.array(event, { maxLength: 5_000, size: 'max' }), (events) => {
      const line = new WaitingLine()
      const model: number[] = []
      events.forEach(({ kind, isGone }, at) => {
        if (kind === 'add') {
          line.add(waiting(at, 0, isGone))
          if (!isGone) model.push(at)
        } else if (kind === 'take') {
          expect((line.take() as { at: number } | undefined)?.at).toBe(model.shift())
        } else {
          const due = [...line.takeDue(at / 2)].map((one) => (one as unknown as { at: number }).at)
          expect(due).toEqual(model.splice(0, model.findLastIndex((one) => one <= at / 2) + 1))
        }
      })
    }),
    { numRuns: 30 },
  )
})

test('a line holds thousands of small bodies, and of large ones together no more than 16 MB', () => {
  const line = new WaitingLine()
  for (let at = 0; at < 4_096; at++) expect(line.add(waiting(at, 2_000))).toBe(true)
  expect(line.add(waiting(0))).toBe(false)
  const large = new WaitingLine()
  for (let at = 0; at < 256; at++) expect(large.add(waiting(at, 65_536))).toBe(true)
  expect(large.add(waiting(0, 1))).toBe(false)
  large.take()
  expect(large.add(waiting(0, 65_536))).toBe(true)
})

test.each([
  [{}, 0],
  [{ 'content-length': '512' }, 512],
  [{ 'content-length': '65537' }, null],
  [{ 'transfer-encoding': 'chunked' }, null],
])('a request with the headers %j waits with %s bytes', (headers, bytes) => {
  expect(waitableBytes({ headers })).toBe(bytes)
})
