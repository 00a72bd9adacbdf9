import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { usageEvent } from '../../test/planned-job.ts'
import { deriveResponseKeys } from './response-keys.ts'
import { openResponse, sealResponse } from './stored-response.ts'
import { MAX_KEPT_BYTES } from './shared-response.ts'

const keysOf = (masterKeyId: string) =>
  deriveResponseKeys({ secrets: [{ masterKeyId, secret: randomBytes(32).toString('base64url') }] })
const KEYS = keysOf('0123456789ab')
const PLACE = { account: 'acc', name: 'name', requestId: 'request' }
const HEAD = { contentType: 'text/event-stream', headers: { 'x-svc-upstream': 'nova' }, usage: usageEvent() }

test('a response opens as it was, in however many pieces it came', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.uint8Array()), async (pieces) => {
      const kept = await openResponse(KEYS, PLACE, await sealResponse(KEYS, PLACE, HEAD, pieces))
      expect(kept.head).toEqual(HEAD)
      expect(Buffer.from(kept.body)).toEqual(Buffer.concat(pieces))
    }),
  )
})

test('the largest that is kept opens, however little it can be compressed', async () => {
  const body = randomBytes(MAX_KEPT_BYTES)
  const kept = await openResponse(KEYS, PLACE, await sealResponse(KEYS, PLACE, HEAD, [body]))
  expect(body.equals(kept.body)).toBe(true)
})

test('sealed, it shows nothing; altered, moved or under other keys, it does not open', async () => {
  const sealed = Buffer.from(await sealResponse(KEYS, PLACE, HEAD, [Buffer.from('a secret answer')]))
  for (const shown of ['secret', 'nova', HEAD.usage.requestId]) expect(sealed.includes(shown)).toBe(false)
  for (let at = 0; at < sealed.length; at += 7) {
    const altered = Buffer.from(sealed)
    altered[at]! ^= 1
    await expect(openResponse(KEYS, PLACE, altered)).rejects.toThrow()
  }
  for (const moved of [{ account: 'other' }, { name: 'other' }, { requestId: 'other' }]) {
    await expect(openResponse(KEYS, { ...PLACE, ...moved }, sealed)).rejects.toThrow()
  }
  await expect(openResponse(keysOf('ba9876543210'), PLACE, sealed)).rejects.toThrow(/does not hold/)
  await expect(openResponse(keysOf('0123456789ab'), PLACE, sealed)).rejects.toThrow()
})
