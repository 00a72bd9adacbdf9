/**
 * Promises to holders of keys: one key each, and a dead key is dead everywhere at once.
 */

import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  userMessages,
  callerWith,
  type Gateway,
  manageKeys,
  mintGuest,
  newDeveloper,
  send,
  signInAs,
} from './gateway.ts'

export function promiseKeys(gateway: () => Gateway): void {
  const chat = { model: 'svc-instant', messages: userMessages('Say: hi') }
  const statusAt = async (url: string, key: string) =>
    (await send(url, '/v1/chat/completions', { key, body: chat })).status

  describe('guest keys', () => {
    test('the same device gets the same key on every edge, another device another', async () => {
      const device = randomUUID()
      const replies = []
      for (const url of gateway().urls) replies.push(await (await mintGuest(gateway(), device, url)).json())
      expect(replies[0]).toEqual({
        key: expect.stringMatching(/^svc_[0-9A-Za-z]+$/),
        plan: 'guest-device',
        rate_limit_per_day: expect.any(Number),
      })
      for (const reply of replies) expect(reply).toEqual(replies[0])
      const other = (await (await mintGuest(gateway(), randomUUID())).json()) as { key: string }
      expect(other.key).not.toBe((replies[0] as { key: string }).key)
    })

    test('devices that send several first requests at the same time get one key each', async () => {
      const device = randomUUID()
      const { urls } = gateway()
      const minted = await Promise.all(
        Array.from({ length: 8 }, async (_, index) =>
          (await mintGuest(gateway(), device, urls[index % urls.length])).json(),
        ),
      )
      expect(new Set(minted.map((reply) => (reply as { key: string }).key)).size).toBe(1)
    })
  })

  describe('developer keys', () => {
    test('minting again returns the same key, of the plan of the account', async () => {
      const token = await signInAs(gateway(), `dev-${randomUUID()}`)
      const [first, second] = [await manageKeys(gateway(), token, 'POST'), await manageKeys(gateway(), token, 'POST')]
      expect(first).toMatchObject({ status: 200, body: { key: expect.stringMatching(/^svc_/), plan: 'team' } })
      expect(second.body).toEqual(first.body)
      expect(await statusAt(gateway().urls[0], String(first.body['key']))).toBe(200)
    })

    test('minting takes an object or no body at all, and refuses anything else', async () => {
      const token = await signInAs(gateway(), `dev-${randomUUID()}`)
      const mint = async (body?: string) => {
        const type = body === undefined ? {} : { 'content-type': 'application/json' }
        const headers = { authorization: `Bearer ${token}`, ...type }
        const sent = { method: 'POST', headers, ...(body !== undefined && { body }) }
        return (await fetch(`${gateway().urls[0]}/v1/keys/developer`, sent)).status
      }
      expect([await mint(), await mint('{}'), await mint('{"note":1}'), await mint('[]')]).toEqual([200, 200, 200, 400])
    })

    test('after a rotate the old key works on no edge and the new one on all', async () => {
      const { key, token } = await newDeveloper(gateway())
      for (const url of gateway().urls) expect(await statusAt(url, key)).toBe(200)
      const rotated = await manageKeys(gateway(), token, 'POST', '/rotate', { key })
      expect(rotated).toMatchObject({ status: 200, body: { plan: 'team', rotated: true } })
      const fresh = String(rotated.body['key'])
      expect(fresh).not.toBe(key)
      for (const url of gateway().urls) {
        expect(await statusAt(url, key)).toBe(401)
        expect(await statusAt(url, fresh)).toBe(200)
      }
      expect(await manageKeys(gateway(), token, 'POST', '/rotate', { key })).toMatchObject({
        status: 401,
        body: { code: 'INVALID_KEY' },
      })
    })

    test('use carries over to the rotated key', async () => {
      const developer = await newDeveloper(gateway())
      await developer.client.chat.completions.create({ model: 'svc-core', messages: userMessages('Say: hi') })
      const usedBy = async (key: string) =>
        (await send(gateway().urls[0], '/billing/quota', { key })).body['used'] as number
      await expect.poll(() => usedBy(developer.key)).toBeGreaterThan(0)
      const used = await usedBy(developer.key)
      const rotated = await manageKeys(gateway(), developer.token, 'POST', '/rotate', { key: developer.key })
      expect(await usedBy(String(rotated.body['key']))).toBe(used)
    })

    test('two rotates at once: one wins', async () => {
      const { key, token } = await newDeveloper(gateway())
      const { urls } = gateway()
      const rotate = (url: string) => manageKeys(gateway(), token, 'POST', '/rotate', { key }, url)
      const both = await Promise.all([rotate(urls[0]), rotate(urls.at(-1)!)])
      expect(both.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 401])
    })

    test('a revoked key works on no edge; its open streams are cut within a second', async () => {
      const developer = await newDeveloper(gateway())
      const { steadyA } = gateway().backends
      const slow = steadyA.fail({ paceMs: 100, times: 1 })
      const request = { model: 'svc-core', messages: userMessages('600 words'), stream: true as const }
      const stream = await developer.at(gateway().urls.at(-1)!).chat.completions.create(request)
      let cutAtMs = Infinity
      let error: unknown
      const reading = (async () => {
        for await (const chunk of stream) void chunk
      })().catch((thrown: unknown) => {
        error = thrown
        cutAtMs = performance.now()
      })
      await new Promise((resolve) => setTimeout(resolve, 500))
      const revoked = await manageKeys(gateway(), developer.token, 'POST', '/revoke', { key: developer.key })
      const revokedAtMs = performance.now()
      expect(revoked).toMatchObject({ status: 200, body: { key: expect.stringMatching(/^svc_.{8}…$/), revoked: true } })
      for (const url of gateway().urls) expect(await statusAt(url, developer.key)).toBe(401)
      await reading
      slow.cancel()
      expect(error).toBeDefined()
      expect(cutAtMs - revokedAtMs).toBeLessThan(1_500)

      const again = await manageKeys(gateway(), developer.token, 'POST', '/revoke', { key: developer.key })
      expect(again.status).toBe(200)
    })

    test('the list shows masked keys, newest first, with their state', async () => {
      const { key, token } = await newDeveloper(gateway())
      await manageKeys(gateway(), token, 'POST', '/rotate', { key })
      const { status, body } = await manageKeys(gateway(), token, 'GET')
      expect(status).toBe(200)
      expect(body).toMatchObject({ object: 'list', data: [{ status: 'active' }, { status: 'deactivated' }] })
      expect(JSON.stringify(body)).not.toContain(key)
      expect(JSON.stringify(body)).toContain(key.slice(0, 12))

      const { data, next } = body as { data: { key: string }[]; next: string | null }
      expect(next).toBeNull()
      const listAfter = (of: string) => manageKeys(gateway(), token, 'GET', `?after=${encodeURIComponent(of)}`)
      expect(await listAfter(data[0]!.key)).toMatchObject({ status: 200, body: { data: [data[1]], next: null } })
      expect(await listAfter(data[1]!.key.slice(0, 12))).toMatchObject({ body: { data: [], next: null } })
      for (const unknown of ['svc_00000000', 'nonsense', key])
        expect(await listAfter(unknown)).toMatchObject({ status: 400, body: { code: 'VALIDATION_ERROR' } })
    })

    test("somebody else's key cannot be rotated or revoked, and stays alive", async () => {
      const [owner, thief] = [await newDeveloper(gateway()), await newDeveloper(gateway())]
      for (const path of ['/rotate', '/revoke'] as const) {
        const reply = await manageKeys(gateway(), thief.token, 'POST', path, { key: owner.key })
        expect(reply).toMatchObject({ status: 401, body: { code: 'INVALID_KEY' } })
      }
      expect(await statusAt(gateway().urls[0], owner.key)).toBe(200)
    })

    test('management takes sign-in tokens only; inference takes them for the active key', async () => {
      const developer = await newDeveloper(gateway())
      const withKey = await manageKeys(gateway(), developer.key, 'POST')
      expect(withKey).toMatchObject({ status: 401, body: { code: 'INVALID_TOKEN' } })
      const unsigned = await send(gateway().urls[0], '/v1/keys/developer', { body: {} })
      expect(unsigned).toMatchObject({ status: 401, body: { code: 'NO_AUTH' } })
      const session = callerWith(gateway(), developer.token)
      await expect(
        session.client.chat.completions.create({ model: 'svc-pro', messages: userMessages('Say: hi') }),
      ).resolves.toBeDefined()
      await manageKeys(gateway(), developer.token, 'POST', '/revoke', { key: developer.key })
      expect(await send(gateway().urls[0], '/v1/chat/completions', { key: developer.token, body: chat })).toMatchObject(
        {
          status: 401,
          body: { code: 'INVALID_KEY' },
        },
      )
    })

    test.each(['/rotate', '/revoke'] as const)('%s without the key: 400 that names it', async (path) => {
      const { token } = await newDeveloper(gateway())
      const reply = await manageKeys(gateway(), token, 'POST', path, {})
      expect(reply).toMatchObject({
        status: 400,
        body: { code: 'VALIDATION_ERROR', error: expect.stringContaining('key') },
      })
    })
  })
}
