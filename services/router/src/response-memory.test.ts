import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ResponseMemory, FREE_BYTES, LARGEST_RESPONSE_BYTES, type HeldResponse } from './response-memory.ts'

const MIB = 1024 * 1024
const waitLimit =
  (withinMs = 60_000, signal = new AbortController().signal) =>
  () => ({ withinMs, signal })
const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('the memory for responses', () => {
  test('small responses never wait', () => {
    const memory = new ResponseMemory(0)
    for (let i = 0; i < 1_000; i++) expect(memory.open().add(FREE_BYTES, waitLimit())).toBeUndefined()
  })

  test('a response that is too large for anyone is refused, not waited for', () => {
    const response = new ResponseMemory(4 * LARGEST_RESPONSE_BYTES).open()
    expect(response.add(LARGEST_RESPONSE_BYTES, waitLimit())).toBeUndefined()
    expect(() => response.add(1, waitLimit())).toThrow(expect.objectContaining({ kind: 'invalid_answer' }))
  })

  test('where no memory is left, responses wait in order', async () => {
    const memory = new ResponseMemory(LARGEST_RESPONSE_BYTES)
    const responses = [1, 2, 3].map(() => memory.open())
    const served: number[] = []
    const waits = responses.map(async (response, i) => {
      await response.add(32 * MIB, waitLimit())
      served.push(i)
    })
    await turn()
    expect(served).toEqual([0])
    responses[0]![Symbol.dispose]()
    await turn()
    expect(served).toEqual([0, 1])
    responses[1]![Symbol.dispose]()
    await Promise.all(waits)
  })

  test('nobody waits longer than its request has time, or wants it', async () => {
    const memory = new ResponseMemory(LARGEST_RESPONSE_BYTES)
    await memory.open().add(32 * MIB, waitLimit())
    await expect(memory.open().add(32 * MIB, waitLimit(20))).rejects.toMatchObject({ kind: 'out_of_time' })
    const leaving = new AbortController()
    const left = memory.open().add(32 * MIB, waitLimit(60_000, leaving.signal))
    leaving.abort(new Error('left'))
    await expect(left).rejects.toThrow('left')
    expect(memory.waiting).toBe(0)
  })

  test('in every order of calls the bound holds, and all responses that can end do', async () => {
    const step = fc.record({ response: fc.nat(5), mib: fc.integer({ min: 1, max: 30 }), ends: fc.boolean() })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.integer({ min: 0, max: 40 }), async (steps, general) => {
        const totalBytes = LARGEST_RESPONSE_BYTES + general * MIB
        const memory = new ResponseMemory(totalBytes)
        const open = new Map<number, { response: HeldResponse; held: number; waits: boolean }>()
        const check = () => {
          const beyond = [...open.values()].map(({ held }) => Math.max(0, held - FREE_BYTES))
          expect(beyond.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(totalBytes)
          const waiting = [...open.values()].filter(({ waits }) => waits)
          // One of those that hold something can always go on.
          if (waiting.length > 0) expect(waiting.length).toBeLessThan(open.size)
        }
        const end = (id: number) => {
          open.get(id)?.response[Symbol.dispose]()
          open.delete(id)
        }
        for (const { response: id, mib, ends } of steps) {
          const one = open.get(id) ?? { response: memory.open(), held: 0, waits: false }
          open.set(id, one)
          if (ends && !one.waits) end(id)
          else if (!one.waits && one.held + mib * MIB <= LARGEST_RESPONSE_BYTES) {
            const wait = one.response.add(mib * MIB, waitLimit())
            one.waits = wait !== undefined
            const go = () => {
              one.waits = false
              one.held += mib * MIB
            }
            if (wait) void wait.then(go)
            else go()
          }
          await turn()
          check()
        }
        // Each response that can go on ends. Then each of the others gets its turn.
        for (let round = 0; open.size > 0 && round < 20; round++) {
          for (const [id, { waits }] of open) if (!waits) end(id)
          await turn()
          check()
        }
        expect(open.size).toBe(0)
        expect(memory.waiting).toBe(0)
      }),
      { numRuns: 200 },
    )
  })
})
