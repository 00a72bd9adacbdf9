/**
 * The faults of a first target that compacts, in front of a second one that summarizes. The client requests it at the endpoint, or
 * by a trigger and as a stream. The rows are in `docs/fault-table.md`.
 */

import { randomBytes } from 'node:crypto'
import { afterAll, describe, expect, test } from 'vitest'
import type { JobHeader } from '@gateway/contracts/job'
import { faultPageSection } from '@gateway/testing/fault-page'
import type { FakeJob } from './fake-job.ts'
import {
  chunk,
  completion,
  DONE,
  event,
  openStream,
  ROLE,
  sendJson,
  STOP,
  USAGE_CHUNK,
  type Reply,
} from './http-backend.ts'
import { eventsOf } from './dialect-backends.ts'
import { backend, router } from './open.ts'
import { poolOver } from './router-under-test.ts'

const SUMMARY = 'We ship on Tuesday.'
const SECRETS = { secrets: [{ masterKeyId: '0123456789ab', secret: randomBytes(32).toString('base64url') }] }
const page = faultPageSection('compaction', ['The first target …', 'Request', 'Attempts', 'Its health', 'Metered'])
afterAll(() => page.close())

const INPUT = [
  { role: 'user', content: 'When do we ship?' },
  { role: 'assistant', content: 'On Tuesday.' },
]
const REQUESTS: Record<string, { header: Partial<JobHeader>; body: object }> = {
  endpoint: { header: { compaction: 'endpoint' }, body: { input: INPUT } },
  'streamed trigger': {
    header: { compaction: 'trigger', stream: true },
    body: { input: [...INPUT, { type: 'compaction_trigger' }], store: false },
  },
}

const summarizes: Reply = (response, { body }) => {
  if (body['stream'] !== true) return sendJson(response, 200, completion(SUMMARY))
  openStream(response)
  response.end(ROLE + chunk({ content: 'We ship ' }) + chunk({ content: 'on Tuesday.' }) + STOP + USAGE_CHUNK + DONE)
}

/** Says so, plain or as a stream, as the request has it. */
const says =
  (message: object, reason = 'stop'): Reply =>
  (response, { body }) => {
    if (body['stream'] !== true) {
      const choices = [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: reason }]
      return sendJson(response, 200, { ...completion(), choices })
    }
    openStream(response)
    response.end(ROLE + chunk(message) + chunk({}, reason) + USAGE_CHUNK + DONE)
  }

const dies: Reply = (response, { body }, socket) => {
  if (body['stream'] !== true) {
    response.write(JSON.stringify(completion('The user')).slice(0, 60), () => setTimeout(() => socket.destroy(), 20))
    return
  }
  openStream(response)
  response.write(ROLE + chunk({ content: 'The user' }), () => setTimeout(() => socket.destroy(), 20))
}
const breaksOff: Reply = (response, { body }) => {
  if (body['stream'] !== true) return response.end(JSON.stringify(completion('The user')).slice(0, 60))
  openStream(response)
  response.end(ROLE + chunk({ content: 'The user' }))
}
const reportsError: Reply = (response, { body }) => {
  const error = { error: { message: 'out of memory', type: 'server_error' } }
  if (body['stream'] !== true) return sendJson(response, 200, error)
  openStream(response)
  response.end(ROLE + chunk({ content: 'The user' }) + event(error))
}
const status =
  (code: number): Reply =>
  (response) =>
    sendJson(response, code, { error: { message: 'no' } })
const garbage: Reply = (response) => {
  response.writeHead(200, { 'content-type': 'text/html' })
  response.end('<html>busy</html>')
}

const call = { index: 0, id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } }
const FAULTS: { target: string; reply: Reply; outcomes: RegExp; health: 'untouched' | 'suffers' }[] = [
  { target: 'returns 500', reply: status(500), outcomes: /^http_500$/, health: 'suffers' },
  { target: 'returns 503', reply: status(503), outcomes: /^http_503$/, health: 'suffers' },
  { target: 'returns HTML', reply: garbage, outcomes: /^invalid_answer$/, health: 'suffers' },
  {
    target: 'dies within the summary',
    reply: dies,
    outcomes: /^(?:reset|truncated|invalid_answer)$/,
    health: 'suffers',
  },
  {
    target: 'breaks off within the summary',
    reply: breaksOff,
    outcomes: /^(?:truncated|invalid_answer)$/,
    health: 'suffers',
  },
  { target: 'reports an error within the summary', reply: reportsError, outcomes: /^error_event$/, health: 'suffers' },
  { target: 'writes no text', reply: says({ content: '' }), outcomes: /^no_summary$/, health: 'untouched' },
  {
    target: 'thinks and writes no text',
    reply: says({ reasoning_content: 'Hm.' }),
    outcomes: /^no_summary$/,
    health: 'untouched',
  },
  { target: 'refuses', reply: says({ refusal: 'I cannot.' }), outcomes: /^no_summary$/, health: 'untouched' },
  {
    target: 'reaches its cap',
    reply: says({ content: 'The user' }, 'length'),
    outcomes: /^no_summary$/,
    health: 'untouched',
  },
  {
    target: 'filters the summary',
    reply: says({ content: 'The' }, 'content_filter'),
    outcomes: /^no_summary$/,
    health: 'untouched',
  },
  {
    target: 'calls a tool',
    reply: says({ tool_calls: [call] }, 'tool_calls'),
    outcomes: /^no_summary$/,
    health: 'untouched',
  },
]

async function routerOver(replies: Reply[], settings: object[] = [], stateSecrets: typeof SECRETS | 'away' = SECRETS) {
  const opened = await Promise.all(replies.map((reply) => backend(reply)))
  const urls = opened.map(({ url }) => url)
  const running = await router(poolOver(urls, { backends: settings }), {}, { stateSecrets })
  const sendRequest = (request: string, more: object = {}) => {
    const { header, body } = REQUESTS[request]!
    return running.sendRequest({ dialect: 'responses', includeUsage: true, ...header }, { ...body, ...more })
  }
  return { opened, sendRequest }
}

/** The items of a response that its client has whole. */
function outputOf(job: FakeJob): { type: string; encrypted_content?: string }[] {
  expect(job.failure).toBeNull()
  const text = job.text()
  if (text.startsWith('{')) return (JSON.parse(text) as { output: { type: string }[] }).output
  const events = eventsOf(job)
  expect(events.map(({ type }) => type)).toEqual([
    ...['response.created', 'response.in_progress', 'response.output_item.added', 'response.output_item.done'],
    'response.completed',
  ])
  return (events.at(-1)!.response as { output: { type: string }[] }).output
}

describe.each(Object.keys(REQUESTS))('%s', (request) => {
  test.each(FAULTS)(
    'the second target summarizes where the first one $target',
    async ({ target, reply, outcomes, health }) => {
      const { opened, sendRequest } = await routerOver([reply, summarizes])
      for (let round = 0; round < 4; round++) {
        const job = await sendRequest(request)
        expect(outputOf(job).filter(({ type }) => type === 'compaction')).toEqual([
          expect.objectContaining({ encrypted_content: expect.stringMatching(/^svc1\./) as string }),
        ])
        expect(job.text()).not.toContain('The user')
        expect(job.end!.usage).toMatchObject({ promptTokens: 9, completionTokens: 3, estimated: false })
        const attempts = job.end!.attempts.map(({ outcome }) => outcome)
        expect(attempts.at(-1)).toBe('served')
        if (round === 0) expect(attempts[0]).toMatch(outcomes)
      }
      const isTried = opened[0]!.seen.length === 4
      expect(isTried ? 'untouched' : 'suffers').toBe(health)
      page.row(target, request, 'both, one after the other', health, 'once, the second, its own figures')
    },
  )

  test('is an error where no target summarizes, and nothing is charged', async () => {
    const { opened, sendRequest } = await routerOver([says({ content: '' }), says({ content: 'The' }, 'length')])
    const job = await sendRequest(request)
    expect(job.failure).toMatchObject({
      code: 'UPSTREAMS_EXHAUSTED',
      attempts: [{ outcome: 'no_summary' }, { outcome: 'no_summary' }],
    })
    expect([job.failure!.usage, job.head, job.text()]).toEqual([undefined, null, ''])
    expect(opened.map(({ seen }) => seen.length)).toEqual([1, 1])
    page.row('writes no text, and neither does the second', request, 'both, then a 503', 'untouched', 'nothing')
  })

  test('has its tokens counted where the target counts none', async () => {
    const without: Reply = (response, { body }) => {
      if (body['stream'] !== true) return sendJson(response, 200, { ...completion(SUMMARY), usage: undefined })
      openStream(response)
      response.end(ROLE + chunk({ content: SUMMARY }) + STOP + DONE)
    }
    const { sendRequest } = await routerOver([without])
    const { usage } = (await sendRequest(request)).end!
    expect(usage).toMatchObject({ promptTokens: 11, estimated: true })
    expect(usage.completionTokens).toBeGreaterThan(2)
  })
})

test("a cap of the client's own that cuts the summary is a 400 that names it, and nobody's fault", async () => {
  const { opened, sendRequest } = await routerOver([says({ content: 'The' }, 'length')])
  for (let round = 0; round < 4; round++) {
    const { failure } = await sendRequest('streamed trigger', { max_output_tokens: 16 })
    expect(failure).toMatchObject({ code: 'BACKEND_REFUSED', backendStatus: 400 })
    expect(failure!.backendBody).toContain('max_output_tokens')
  }
  expect(opened[0]!.seen).toHaveLength(4)
})

test('without the secrets that seal, no target is called, and the client comes back later', async () => {
  const { opened, sendRequest } = await routerOver([summarizes, summarizes], [], 'away')
  for (const request of Object.keys(REQUESTS)) {
    const { failure } = await sendRequest(request)
    expect(failure).toMatchObject({ code: 'UPSTREAMS_EXHAUSTED' })
  }
  expect(opened.map(({ seen }) => seen.length)).toEqual([0, 0])
})

test('a router has the secrets before a request needs them, so keys may be away then', async () => {
  let fetched = 0
  let stateSecrets: typeof SECRETS | 'away' = 'away'
  const parts = {
    get stateSecrets() {
      fetched++
      return stateSecrets
    },
  }
  const { url } = await backend(summarizes)
  const running = await router(poolOver([url]), {}, parts)
  // Keys starts later than the router.
  await expect.poll(() => fetched, { timeout: 10_000 }).toBeGreaterThan(0)
  stateSecrets = SECRETS
  const before = fetched
  await expect.poll(() => fetched, { timeout: 10_000 }).toBeGreaterThan(before)
  stateSecrets = 'away'
  const { header, body } = REQUESTS['endpoint']!
  const job = await running.sendRequest({ dialect: 'responses', includeUsage: true, ...header }, body)
  expect(outputOf(job).map(({ type }) => type)).toContain('compaction')
})

describe('a vendor that compacts', () => {
  const OPENAI = { vendor: 'openai', apiKey: 'k' }
  const item = { type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAAAB' }
  const RESPONSE = { id: 'resp_1', object: 'response.compaction', created_at: 1, output: [item] }
  const usage = { input_tokens: 9, output_tokens: 3, total_tokens: 12 }

  test('is called at its endpoint, and its own figures are metered', async () => {
    const { opened, sendRequest } = await routerOver(
      [(response) => sendJson(response, 200, { ...RESPONSE, usage })],
      [OPENAI],
    )
    const job = await sendRequest('endpoint')
    expect(JSON.parse(job.text())).toEqual({ ...RESPONSE, usage })
    expect(job.end!.usage).toMatchObject({ promptTokens: 9, completionTokens: 3, estimated: false })
    expect(opened[0]!.seen).toMatchObject([{ path: '/v1/responses/compact' }])
  })

  test.each([404, 405, 501])(
    'and has no such endpoint (%i) stays in use, and another target summarizes',
    async (code) => {
      const { opened, sendRequest } = await routerOver([status(code), summarizes], [OPENAI, {}])
      for (let round = 0; round < 4; round++) {
        const job = await sendRequest('endpoint')
        expect(job.end!.attempts).toMatchObject([{ outcome: 'no_summary' }, { outcome: 'served' }])
      }
      expect(opened[0]!.seen).toHaveLength(4)
      if (code === 404)
        page.row(
          'is OpenAI’s and has no such endpoint',
          'endpoint',
          'both, one after the other',
          'untouched',
          'once, the second, its own figures',
        )
    },
  )
})

test('a target that writes slowly is waited for from its first text on, while another one is left', async () => {
  const slow: Reply = async (response) => {
    openStream(response)
    response.write(ROLE)
    for (let piece = 0; piece < 6; piece++) {
      response.write(chunk({ content: 'We ship. ' }))
      await new Promise((resolve) => setTimeout(resolve, 400))
    }
    response.end(STOP + USAGE_CHUNK + DONE)
  }
  const timeouts = { connectMs: 20_000, firstByteMs: 1_000, idleMs: 20_000 }
  const { opened, sendRequest } = await routerOver([slow, summarizes], [{ timeouts }, {}])
  const job = await sendRequest('streamed trigger')
  expect(outputOf(job)).toHaveLength(1)
  expect(opened[1]!.seen).toEqual([])
})
