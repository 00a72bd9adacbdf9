/**
 * Every call of the official SDK's `client.admin.organization`, on the whole gateway in this process.
 */

import { afterAll, beforeAll, expect, test } from 'vitest'
import { type GatewayInProcess, startGatewayInProcess } from '../prices/gateway-in-process.ts'
import { send, signInAs } from '../promises/gateway.ts'
import { fateOf, listSdkCalls } from './sdk-calls.ts'
import { complaintsAbout } from './sdk-types.ts'
import { type Outcome, walkSdk } from './walk.ts'

let gateway: GatewayInProcess
let outcomes: Outcome[]
beforeAll(async () => {
  gateway = await startGatewayInProcess()
  const token = await signInAs(gateway, 'owner')
  // The newest person is in a group, for the calls on people and groups.
  for (const key of [token, await signInAs(gateway, 'ada@search')]) {
    await send(gateway.url, '/v1/organization/projects', { key })
  }
  outcomes = await walkSdk(`${gateway.url}/v1`, token)
})
afterAll(() => gateway?.[Symbol.asyncDispose]())

test('every call works, or is a 404 that names the part which does its work here', async () => {
  expect(outcomes).toHaveLength((await listSdkCalls()).length)
  const wrong = outcomes.flatMap(({ call, status, body }) => {
    const fate = fateOf(call)
    const { error } = body as { error?: { code: string; message: string } }
    const isRight =
      fate.kind === 'row'
        ? status === 200
        : fate.kind === 'absent' &&
          status === 404 &&
          error?.code === 'NOT_FOUND' &&
          error.message.endsWith(fate.instead)
    return isRight ? [] : [`${call.name}: ${fate.kind}, ${status} ${JSON.stringify(body)}`]
  })
  expect(wrong).toEqual([])
})

test("every response has the form of the SDK's own types", async () => {
  const done = outcomes.filter(({ status }) => status === 200)
  expect(await complaintsAbout(done)).toEqual([])
  const { call } = done.find(({ call: { name } }) => name === 'projects.create')!
  const wrong = { id: 'proj_1', object: 'organization.project', created_at: '1' }
  expect((await complaintsAbout([{ call, body: wrong }]))[0]).toContain('projects.create: error')
})
