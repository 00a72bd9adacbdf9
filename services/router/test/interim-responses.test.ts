/**
 * Interim responses (1xx) that nobody requested, before the final one (RFC 9110, section 15.2).
 *
 * The HTTP client, undici, reads over all of them but 100, at which it ends the connection. No setting of it changes that.
 */

import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { beforeEach, expect, test } from 'vitest'
import { goodChat, type Reply } from './http-backend.ts'
import { backend, router } from './open.ts'
import { poolOver } from './router-under-test.ts'

const hints = (response: ServerResponse) => response.writeEarlyHints({ link: '</x>; rel=preload' })
const processing = (response: ServerResponse) => response.writeProcessing()

function after(interim: (response: ServerResponse) => unknown): Reply {
  return (response, request, socket) => {
    sockets.add(socket)
    interim(response)
    return goodChat(response, request, socket)
  }
}

/** Of the backends' connections. */
const sockets = new Set<Socket>()
beforeEach(() => sockets.clear())

test.each<[string, (response: ServerResponse) => unknown]>([
  ['103', hints],
  ['102', processing],
  ['several', (response) => [processing, hints, processing, hints].forEach((write) => write(response))],
])('%s before a response changes nothing, and the connection stays', async (_, interim) => {
  const one = await backend(after(interim))
  const running = await router(poolOver([one.url]))
  for (const stream of [false, true, false, true]) {
    const job = await running.sendRequest({ stream })
    expect(job.end).toMatchObject({ attempts: [{ outcome: 'served' }], usage: { promptTokens: 9 } })
  }
  // The next request may come before the connection of the last is free.
  expect(sockets.size).toBeLessThanOrEqual(2)
})

test.each([false, true])(
  'at a 100 the next target is called, and the client sees no failure (stream: %s)',
  async (stream) => {
    const one = await backend(after((response) => response.writeContinue()))
    const two = await backend(goodChat)
    const running = await router(poolOver([one.url, two.url]))
    const job = await running.sendRequest({ stream })
    expect(job.end?.attempts.map(({ outcome }) => outcome)).toEqual(['reset', 'served'])
  },
)
