import { GatewayError } from '@gateway/contracts/errors'
import { renderError } from '@gateway/contracts/render-error'
import type { Request, Response } from 'express'
import { expect, test } from 'vitest'
import type { EdgeContext } from '../edge-context.ts'
import { mintGuestKey } from './mint-guest-key.ts'

test('when more clients request new keys than the service can make, a client learns at once when to try again', async () => {
  const keys = { mintGuest: async () => ({ kind: 'busy', retryAfterMs: 1_000 }) }
  const edge = { keys, clientNetwork: () => '203.0.113.7' } as unknown as EdgeContext
  const request = { body: { device_id: 'device-1' } } as Request
  const minting = Promise.resolve(mintGuestKey(edge)(request, {} as Response, null))
  const error = await minting.then(
    () => undefined,
    (thrown: unknown) => thrown as GatewayError,
  )
  expect(error).toBeInstanceOf(GatewayError)
  const { status, headers } = renderError(error!, { docsUrl: '', topupUrl: '' })
  expect(status).toBe(503)
  expect(headers).toMatchObject({ 'retry-after': '1', 'retry-after-ms': '1000' })
})
