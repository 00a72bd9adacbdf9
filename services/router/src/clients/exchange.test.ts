import type { Dispatcher } from 'undici'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BackendFault } from '../core/backend-fault.ts'
import { Exchange } from './exchange.ts'

const TIMEOUTS = { connectMs: 60_000, firstByteMs: 60_000, idleMs: 60_000 }

/** An exchange whose backend has sent its headers. */
function begun() {
  const exchange = new Exchange(TIMEOUTS, 60_000, { stream: true, shareMs: 60_000, othersLeft: () => false })
  const connection = {
    isPaused: false,
    /** Sends more before it returns. */
    onResume() {},
    pause: () => void (connection.isPaused = true),
    resume() {
      connection.isPaused = false
      connection.onResume()
    },
    abort(reason: Error) {
      exchange.onResponseError(connection as never, reason)
    },
  }
  const controller = connection as unknown as Dispatcher.DispatchController
  exchange.onRequestStart(controller)
  exchange.onResponseStart(controller, 200, {})
  return {
    exchange,
    connection,
    send: (piece: string) => exchange.onResponseData(controller, Buffer.from(piece)),
    end: () => exchange.onResponseEnd(),
    fail: () => exchange.onResponseError(controller, new Error('the connection was reset')),
    [Symbol.dispose]: () => exchange.abort(new Error('the test is over')),
  }
}

describe('the pieces of a response', () => {
  test('are taken in the turn in which they come, where nothing makes them wait', () => {
    using backend = begun()
    const taken: string[] = []
    void backend.exchange
      .pass((piece) => {
        taken.push(piece.toString())
        return true
      })
      .catch(() => {})
    backend.send('a')
    expect(taken).toEqual(['a'])
    backend.send('b')
    expect(taken).toEqual(['a', 'b'])
  })

  /** A step of the backend or of its reader, who may make the next piece wait. */
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('piece' as const), waits: fc.boolean() }) },
    { weight: 2, arbitrary: fc.constant({ kind: 'ready' as const }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'turn' as const }) },
  )
  const ending = fc.constantFrom('end', 'fail', 'enough', 'throw', 'abort')

  test('come once each and in order, one at a time, and then the end, for any pace of reader and backend', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), ending, async (steps, last) => {
        using backend = begun()
        const sent = steps.filter((one) => one.kind === 'piece')
        const taken: number[] = []
        let waiting: PromiseWithResolvers<boolean> | undefined
        let isBusy = false
        const ready = () => {
          isBusy = false
          waiting?.resolve(true)
          waiting = undefined
        }
        const passing = backend.exchange
          .pass((piece) => {
            expect(isBusy).toBe(false)
            const number = Number(piece.toString())
            taken.push(number)
            if (number === sent.length) {
              if (last === 'throw') throw new Error('thrown')
              if (last === 'abort') backend.exchange.abort(new Error('aborted'))
              return last !== 'enough'
            }
            if (sent[number]?.waits !== true) return true
            isBusy = true
            waiting = Promise.withResolvers()
            return waiting.promise
          })
          .then(
            (isComplete) => (isComplete ? 'end' : 'enough'),
            (thrown: Error) => (thrown instanceof BackendFault ? 'fail' : thrown.message),
          )
        let number = 0
        for (const { kind } of steps) {
          if (kind === 'piece') backend.send(String(number++))
          else if (kind === 'ready') ready()
          else await new Promise((resolve) => setImmediate(resolve))
        }
        if (last === 'end') backend.end()
        else if (last === 'fail') backend.fail()
        else backend.send(String(number++))
        while (taken.length < number) {
          ready()
          await new Promise((resolve) => setImmediate(resolve))
        }
        ready()
        const outcome = { end: 'end', fail: 'fail', enough: 'enough', throw: 'thrown', abort: 'aborted' }[last]
        expect(await passing).toBe(outcome)
        expect(taken).toEqual(Array.from({ length: number }, (_, at) => at))
      }),
      { numRuns: 300 },
    )
  })

  test('that have come while nobody read, ten thousand of them, are taken one behind the other', async () => {
    using backend = begun()
    for (let piece = 0; piece < 10_000; piece++) backend.send('x')
    backend.end()
    let taken = 0
    await backend.exchange.pass((piece) => (taken += piece.length) > 0)
    expect(taken).toBe(10_000)
  })

  test('pause the backend where their reader is slow, and later ones come behind them', async () => {
    using backend = begun()
    const first = Promise.withResolvers<boolean>()
    const taken: string[] = []
    const passing = backend.exchange.pass((piece) => {
      taken.push(piece.toString())
      return taken.length === 1 ? first.promise : true
    })
    const pieces = ['0', ...Array.from({ length: 64 }, (_, at) => String(at + 1).padEnd(1_024))]
    for (const piece of pieces) backend.send(piece)
    expect(backend.connection.isPaused).toBe(true)
    backend.connection.onResume = () => backend.send('last')
    first.resolve(true)
    await expect.poll(() => backend.connection.isPaused).toBe(false)
    backend.end()
    expect(await passing).toBe(true)
    expect(taken).toEqual([...pieces, 'last'])
  })
})
