import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { FORMER_SECRET, SECRET, startReceiver, type Receiver } from '../../test/webhook-receiver.ts'
import { postWebhook } from './post-webhook.ts'

let receiver: Receiver
beforeEach(async () => void (receiver = await startReceiver()))
afterEach(() => receiver[Symbol.asyncDispose]())

const MESSAGE = {
  eventId: 'msg_1',
  payload: '{"type":"key.created","timestamp":"2026-11-29T00:00:00.000Z","data":{"é":1}}',
}
const NEVER = new AbortController().signal

const post = (more: { url?: string; secrets?: string[]; allowPrivate?: boolean } = {}, timeoutMs = 10_000) =>
  postWebhook({ url: receiver.url, secrets: [SECRET], allowPrivate: true, ...more }, MESSAGE, {
    stopping: NEVER,
    timeoutMs,
  })

const reply =
  (status: number, headers: Record<string, string> = {}, body = '') =>
  (response: ServerResponse) => {
    response.writeHead(status, headers).end(body)
    return 'handled' as const
  }

describe('an attempt to deliver to a webhook', () => {
  test('arrives signed as the specification says, with path and query of the address', async () => {
    expect(await post({ url: `${receiver.url}/hooks/a?team=b` })).toEqual({ kind: 'delivered' })
    expect(receiver.received).toEqual([
      {
        ...{ id: 'msg_1', path: '/hooks/a?team=b', type: 'key.created', data: { é: 1 } },
        timestamp: '2026-11-29T00:00:00.000Z',
      },
    ])
  })

  test('is accepted by receivers of either secret during a rotation', async () => {
    await using former = await startReceiver(FORMER_SECRET)
    const secrets = [SECRET, FORMER_SECRET]
    expect(await post({ secrets })).toEqual({ kind: 'delivered' })
    expect(await post({ secrets, url: former.url })).toEqual({ kind: 'delivered' })
    expect(await post({ secrets: [FORMER_SECRET] })).toMatchObject({ kind: 'failed' })
    expect(receiver.refused).toHaveLength(1)
  })

  test.each([300, 400, 404, 429, 500, 503])('a %i is a failure, and the fault has the body', async (status) => {
    receiver.behave = reply(status, {}, 'not\u0000today')
    expect(await post()).toEqual({ kind: 'failed', fault: `the receiver replied ${status}: not today` })
  })

  test('a redirect is a failure, and nobody follows it', async () => {
    await using elsewhere = await startReceiver()
    receiver.behave = reply(307, { location: elsewhere.url })
    expect(await post()).toMatchObject({ kind: 'failed', fault: 'the receiver replied 307' })
    expect(elsewhere.attempted).toEqual([])
  })

  test('a 410 says that the receiver is gone', async () => {
    receiver.behave = reply(410)
    expect(await post()).toEqual({ kind: 'gone', fault: 'the receiver replied 410' })
  })

  test('a receiver that hangs is a failure when the time is up', async () => {
    receiver.behave = () => 'handled'
    expect(await post({}, 300)).toEqual({ kind: 'failed', fault: 'no response within 0.3 s' })
  })

  test('a receiver that drops the connection is a failure', async () => {
    receiver.behave = (response) => {
      response.destroy()
      return 'handled'
    }
    expect(await post()).toMatchObject({ kind: 'failed' })
  })

  test('a receiver that is not there is a failure', async () => {
    const { url } = receiver
    await receiver[Symbol.asyncDispose]()
    expect(await post({ url })).toMatchObject({
      kind: 'failed',
      fault: expect.stringContaining('ECONNREFUSED') as string,
    })
    receiver = await startReceiver()
  })

  test('a body without end is read up to a bound', async () => {
    receiver.behave = (response) => {
      response.writeHead(500)
      const fill = () => {
        while (response.writable && response.write(Buffer.alloc(65_536, 'x')));
      }
      response.on('drain', fill)
      fill()
      return 'handled'
    }
    const outcome = await post()
    expect(outcome).toMatchObject({ kind: 'failed' })
    expect('fault' in outcome && outcome.fault.length).toBeLessThanOrEqual(500)
  })

  test('a 200 counts, however long its body takes', async () => {
    receiver.behave = (response) => {
      response.writeHead(200).write('one moment')
      return 'handled'
    }
    expect(await post()).toEqual({ kind: 'delivered' })
  })

  test('nothing connects to a private address that the config does not allow', async () => {
    for (const url of [receiver.url, receiver.url.replace('127.0.0.1', 'localhost')]) {
      const outcome = await post({ url, allowPrivate: false })
      expect(outcome).toMatchObject({ kind: 'failed', fault: expect.stringContaining('not public') as string })
    }
    expect(receiver.attempted).toEqual([])
  })

  test('a name is resolved once, and the connection goes to that address', async () => {
    const names: string[] = []
    const endpoint = { url: receiver.url.replace('127.0.0.1', 'moves.test'), secrets: [SECRET], allowPrivate: false }
    const resolve = async (name: string) => (names.push(name), { address: '127.0.0.1', family: 4 })
    expect(await postWebhook(endpoint, MESSAGE, { stopping: NEVER, resolve })).toEqual({ kind: 'delivered' })
    expect(names).toEqual(['moves.test'])
  })

  test('a process that stops ends its attempt', async () => {
    receiver.behave = () => 'handled'
    const stopping = new AbortController()
    const endpoint = { url: receiver.url, secrets: [SECRET], allowPrivate: true }
    const attempt = postWebhook(endpoint, MESSAGE, { stopping: stopping.signal })
    const ended = attempt.catch((reason: unknown) => reason)
    await expect.poll(() => receiver.attempted.length).toBe(1)
    stopping.abort('stop')
    expect(await ended).toBe('stop')
  })
})
