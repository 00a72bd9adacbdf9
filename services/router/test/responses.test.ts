/**
 * Clients of the Responses API in front of backends of every dialect: the fields of a request that each of them gets.
 * The faults of backends: `dialect-faults.test.ts`.
 */

import { expect, test } from 'vitest'
import type { TargetDialect } from '@gateway/contracts/vendors'
import { eventsOf, good, routerOver } from './dialect-backends.ts'
import { chunk, goodChat, openStream, ROLE, sendJson, type Reply } from './http-backend.ts'

test('a tool that only a vendor runs stays with a backend of its dialect within its limit; elsewhere the router drops it with a warning', async () => {
  const { opened, sendRequest } = await routerOver('responses', [
    ['responses', (response) => sendJson(response, 500, {})],
    ['chat', goodChat],
  ])
  const hostedTools = { calls: { web_search: 3 }, total: 3 }
  const job = await sendRequest(false, { tools: [{ type: 'web_search' }] }, { asksHostedTools: true, hostedTools })
  expect(opened.map(({ seen }) => [seen[0]!.body['tools'], seen[0]!.body['max_tool_calls']])).toEqual([
    [[{ type: 'web_search' }], 3],
    [undefined, undefined],
  ])
  expect(job.head?.droppedParams).toEqual(['tools.web_search'])
})

test('a tool that the vendor runs stays behind where the price does not cover it, also for an edge that says nothing', async () => {
  const { opened, sendRequest } = await routerOver('responses', [['responses', good('responses')]])
  const job = await sendRequest(false, { tools: [{ type: 'web_search' }], tool_choice: 'auto' })
  expect(opened[0]!.seen[0]!.body).not.toHaveProperty('tools')
  expect(opened[0]!.seen[0]!.body).not.toHaveProperty('tool_choice')
  expect(job.head?.droppedParams).toEqual(['tools.web_search'])
})

test('a stream that ends without a finish reason or an end is no response', async () => {
  const { sendRequest } = await routerOver('responses', [
    [
      'chat',
      (response) => {
        openStream(response)
        response.end(ROLE + chunk({ content: 'Hello' }))
      },
    ],
  ])
  const job = await sendRequest(true)
  expect(eventsOf(job).at(-1)!.type).toBe('response.output_text.delta')
  expect(job.failure).toMatchObject({ attempts: [{ outcome: 'truncated' }] })
})

test('the events that hold a whole response repeat long instructions and tools to the byte', async () => {
  const { sendRequest } = await routerOver('responses', [['chat', goodChat]])
  const tools = Array.from({ length: 20 }, (_, at) => {
    return { type: 'function', name: `tool_${at}`, description: 'ä'.repeat(500), parameters: {}, strict: false }
  })
  const request = { instructions: 'Be brief. '.repeat(900), tools }
  const job = await sendRequest(true, request)
  const holders = eventsOf(job).filter((event) => 'response' in event)
  expect(holders.map(({ type }) => type)).toEqual(['response.created', 'response.in_progress', 'response.completed'])
  for (const event of holders) expect(event).toMatchObject({ response: request })
  expect(job.text().split(JSON.stringify(tools))).toHaveLength(4)
})

test('a target that refuses a name that the translation wrote gets the other one', async () => {
  const refuses: Reply = (response, request, socket) => {
    if (!('max_completion_tokens' in request.body)) return goodChat(response, request, socket)
    const message = "Unsupported parameter: 'max_completion_tokens'"
    const error = { message, param: 'max_completion_tokens', code: 'unsupported_parameter' }
    return sendJson(response, 400, { error })
  }
  const { opened, sendRequest } = await routerOver('responses', [
    ['chat', refuses],
    ['chat', goodChat],
  ])
  const job = await sendRequest(true, { max_output_tokens: 7 })
  expect(eventsOf(job).at(-1)).toMatchObject({ type: 'response.completed', response: { status: 'completed' } })
  expect(opened[0]!.seen.map(({ body }) => [body['max_completion_tokens'], body['max_tokens']])).toEqual([
    [7, undefined],
    [undefined, 7],
  ])
  expect(opened[1]!.seen).toHaveLength(0)
})

test.each<[string, TargetDialect, object]>([
  ['tool_choice', 'chat', { tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } }],
  ['prompt', 'messages', { prompt: { id: 'p' } }],
])(
  '%s, which no %s backend could serve, is refused with its name, and no backend gets a request',
  async (field, dialect, body) => {
    const { opened, sendRequest } = await routerOver('responses', [[dialect, good(dialect)]])
    const { failure } = await sendRequest(true, body)
    expect(failure).toMatchObject({ code: 'BACKEND_REFUSED', backendStatus: 400 })
    expect(JSON.parse(failure!.backendBody!)).toMatchObject({ error: { param: field } })
    expect(opened[0]!.seen).toHaveLength(0)
  },
)
