import { NoResponderError, RemoteError, type Bus } from '@gateway/bus/port'
import { describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { ask } from './ask.ts'

const reply = z.object({ kind: z.literal('done') })
const done = Buffer.from('{"kind":"done"}')

/** A service that fails in these ways, one after the other, and then answers. */
function failing(...failures: Error[]) {
  const request = vi.fn<Bus['request']>(async () => {
    const failure = failures.shift()
    if (failure) throw failure
    return done
  })
  return { request, bus: { request } as unknown as Bus }
}

describe('a question to another service', () => {
  test('is repeated while nobody answers, so that a restart is not noticed', async () => {
    const { bus, request } = failing(new NoResponderError('nobody'), new NoResponderError('nobody'))
    expect(await ask(bus, 'subject', {}, reply)).toEqual({ kind: 'done' })
    expect(request).toHaveBeenCalledTimes(3)
  })

  test('that may be answered twice is repeated where the service failed, for it may just be finding its store', async () => {
    const { bus } = failing(new RemoteError('the admission store is away'))
    expect(await ask(bus, 'subject', {}, reply, { repeatable: true })).toEqual({ kind: 'done' })
  })

  test('that changes something is not repeated where the service failed', async () => {
    const { bus, request } = failing(new RemoteError('lost in the middle'))
    await expect(ask(bus, 'subject', {}, reply)).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    expect(request).toHaveBeenCalledTimes(1)
  })

  test('that goes on failing ends in a 503 after two seconds', async () => {
    const { bus } = failing(...Array.from({ length: 100 }, () => new RemoteError('broken')))
    const startedAtMs = performance.now()
    const asking = ask(bus, 'subject', {}, reply, { repeatable: true })
    await expect(asking).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    expect(performance.now() - startedAtMs).toBeLessThan(4_000)
  })
})
