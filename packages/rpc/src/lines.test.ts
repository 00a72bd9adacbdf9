import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openLines } from './lines.ts'

const refuse = () => new Error('too many')

test('each caller has so many calls at once, and so many that wait, in any order of calls, ends and failures', async () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('call' as const), caller: fc.constantFrom('a', 'b') }),
    fc.record({ kind: fc.constant('end' as const), at: fc.nat(), fails: fc.boolean() }),
  )
  const property = async (steps: (typeof step extends fc.Arbitrary<infer S> ? S : never)[]) => {
    const inLine = openLines({ atOnce: 2, mostWaiting: 3, refuse })
    /** The callers of the calls that run, and how each ends. */
    const running: { caller: 'a' | 'b'; number: number; end(fails: boolean): void }[] = []
    const model = { a: [] as number[], b: [] as number[] }
    const outcomes: Promise<unknown>[] = []
    for (const [number, taken] of steps.entries()) {
      if (taken.kind === 'call') {
        const { caller } = taken
        const isRefused = model[caller].length >= 5
        const call = inLine(caller, () => {
          const { promise, resolve, reject } = Promise.withResolvers<void>()
          running.push({ caller, number, end: (fails) => (fails ? reject(new Error('failed')) : resolve()) })
          return promise
        })
        const outcome = call.then(
          () => 'done',
          (error: Error) => error.message,
        )
        outcomes.push(outcome)
        if (isRefused) expect(await outcome).toBe('too many')
        else model[caller].push(number)
      } else if (running.length > 0) {
        const [ended] = running.splice(taken.at % running.length, 1)
        ended!.end(taken.fails)
        const ofCaller = model[ended!.caller]
        ofCaller.splice(ofCaller.indexOf(ended!.number), 1)
      }
      await turn()
      const expected = [...model.a.slice(0, 2), ...model.b.slice(0, 2)].toSorted((x, y) => x - y)
      expect(running.map((one) => one.number).toSorted((x, y) => x - y)).toEqual(expected)
    }
    while (running.length > 0) {
      running.shift()!.end(false)
      await turn()
    }
    await Promise.all(outcomes)
  }
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 40 }), property))
})
