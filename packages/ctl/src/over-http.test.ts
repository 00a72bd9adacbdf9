/** Administration calls over HTTP, against a server that records them. */

import { createServer, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { administerOverHttp } from './over-http.ts'

const PROJECT = {
  id: 'proj_1',
  object: 'organization.project',
  name: 'Search',
  created_at: 1,
  archived_at: null,
  status: 'active',
  personal: false,
  plan: 'team',
}

let stack: AsyncDisposableStack
let calls: { method: string; url: string; authorization: string; body: string }[]
let reply: { status: number; body: unknown }
let url: string

beforeEach(async () => {
  stack = new AsyncDisposableStack()
  calls = []
  const record = async (request: IncomingMessage) => {
    const { method = '', url: path = '', headers } = request
    calls.push({ method, url: path, authorization: headers.authorization ?? '', body: await text(request) })
  }
  const server = createServer((request, response) => {
    void record(request).then(() => response.writeHead(reply.status).end(JSON.stringify(reply.body)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  stack.defer(() => {
    server.closeAllConnections()
    server.close()
  })
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(() => stack.disposeAsync())

test.each(['', '/', '/v1', '/v1/'])('an address that ends in %j is the same gateway', async (ending) => {
  reply = { status: 200, body: PROJECT }
  await administerOverHttp(url + ending, 'svc_admin_x')('projects.create', { name: 'Search' })
  expect(calls).toEqual([
    {
      method: 'POST',
      url: '/v1/organization/projects',
      authorization: 'Bearer svc_admin_x',
      body: '{"name":"Search"}',
    },
  ])
})

test('members go into the path, the query and the body, each where its call has it', async () => {
  reply = { status: 200, body: { object: 'list', data: [], first_id: null, last_id: null, has_more: false } }
  await administerOverHttp(url, 'svc_admin_x')('apiKeys.list', { project_id: 'proj/1', limit: 5, after: undefined })
  expect(calls[0]).toMatchObject({ url: '/v1/organization/projects/proj%2F1/api_keys?limit=5', body: '' })
})

test.each([
  [{ error: { message: 'There is no project proj_2' } }, 'There is no project proj_2'],
  [{ error: 'Unauthorized' }, 'Unauthorized'],
  ['<html>', 'responded with status 404'],
])('a refusal %j comes in the words of the gateway', async (body, sentence) => {
  reply = { status: 404, body }
  await expect(administerOverHttp(url, 'svc_admin_x')('projects.retrieve', { project_id: 'proj_2' })).rejects.toThrow(
    sentence,
  )
})

test('a server that is no gateway is named as such', async () => {
  reply = { status: 200, body: { hello: 'world' } }
  await expect(administerOverHttp(url, 'svc_admin_x')('projects.retrieve', { project_id: 'proj_2' })).rejects.toThrow(
    'is no model gateway, or one of another version',
  )
})

test('a gateway that does not respond leaves open if a change holds', async () => {
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
  const call = administerOverHttp(url, 'svc_admin_x')
  await expect(call('projects.archive', { project_id: 'proj_1' })).rejects.toThrow('the change may hold all the same')
  await expect(call('projects.retrieve', { project_id: 'proj_1' })).rejects.not.toThrow('may hold')
})

test('a missing key and a wrong address are named before anything is sent', () => {
  expect(() => administerOverHttp(url, undefined)).toThrow('GATEWAY_ADMIN_KEY')
  expect(() => administerOverHttp('gateway.example', 'svc_admin_x')).toThrow('--url is an address')
})
