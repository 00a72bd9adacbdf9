/**
 * The route table on a real edge: every row refuses all that its credential does not cover. Sabotaged rows show that
 * the walk over the table finds a row that does not.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openAccountCache } from '../services/edge/src/auth/account-cache.ts'
import { claimKey } from '../services/edge/src/auth/authenticate.ts'
import type { Route, Routes } from '../services/edge/src/create-app.ts'
import { routes } from '../services/edge/src/routes.ts'
import { type GatewayInProcess, startGatewayInProcess } from './prices/gateway-in-process.ts'
import { collectBearers, findWrongResponses, promiseCredentials } from './promises/credentials.ts'

describe('the table as it is', () => {
  let gateway: GatewayInProcess
  beforeAll(async () => {
    gateway = await startGatewayInProcess()
  })
  afterAll(() => gateway?.[Symbol.asyncDispose]())

  promiseCredentials(() => gateway)
})

/**
 * Reads the key from the header, and forgets to have it proven. Its edge started after keys had published the dead
 * keys.
 */
const proofForgotten: Route = {
  credential: 'none',
  handle: (edge) => async (request, response) => {
    const { account } = await claimKey({ ...edge, plans: openAccountCache() }, request)
    response.json({ account })
  },
}

test.each([
  ['/v1/plan', 'GET'],
  ['/v1/quote', 'POST'],
  ['/v1/chat/completions', 'POST'],
] as const)('a row of %s that admits a key which nobody proved is found', async (path, method) => {
  const sabotaged: Routes = { ...routes, [path]: { [method]: proofForgotten } }
  await using gateway = await startGatewayInProcess({ routes: sabotaged })
  const wrong = await findWrongResponses(gateway.url, await collectBearers(gateway))
  expect(wrong.filter((reply) => !reply.startsWith(`${method} ${path},`))).toEqual([])
  expect(wrong).toContainEqual(expect.stringContaining('with a revoked key: 200'))
  expect(wrong).toContainEqual(expect.stringContaining('with a forged key of a live account: 200'))
})
