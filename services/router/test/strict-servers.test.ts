/**
 * A server that refuses a parameter still gets the request: the router writes it in another way, or leaves it out and
 * says so.
 */

import type { JobHeader } from '@gateway/contracts/job'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { goodChat, sendJson, startHttpBackend, type HttpBackend } from './http-backend.ts'
import type { FakeJob } from './fake-job.ts'
import { backend, router } from './open.ts'
import { poolOver, startRouterUnderTest, type RouterUnderTest } from './router-under-test.ts'
import { STRICT_SERVERS } from './strict-servers.ts'

const MESSAGES = [{ role: 'user', content: 'Say hello' }]
/** Every parameter that the router may leave out. */
const OPTIONS = {
  temperature: 0.2,
  top_p: 0.9,
  presence_penalty: 0.5,
  frequency_penalty: 0.5,
  logprobs: true,
  top_logprobs: 2,
  logit_bias: { 50256: -100 },
  parallel_tool_calls: false,
  seed: 7,
}

const cases = Object.entries(STRICT_SERVERS).flatMap(([server, { models }]) =>
  models.map((model) => ({ server, model, ...STRICT_SERVERS[server]! })),
)

interface Under {
  a: HttpBackend
  under: RouterUnderTest
}

async function open({ reply, model }: { reply: HttpBackend['reply']; model: string }): Promise<Under> {
  const a = await backend(reply)
  return { a, under: await router(poolOver([a.url], { targets: [{ model }] })) }
}

function served(job: FakeJob): FakeJob {
  expect(job.failure).toBeNull()
  expect(job.text()).not.toBe('')
  return job
}

const attemptsOf = (job: FakeJob) => (job.end ?? job.failure)!.attempts.length

describe('a strict server', () => {
  test.for(cases)('$server as $model serves a chat that has no cap, and one that has', async (one) => {
    const { a, under } = await open(one)
    for (const stream of [false, true]) {
      served(await under.sendRequest({ defaultMaxTokens: 64, stream }))
      for (const name of ['max_tokens', 'max_completion_tokens']) {
        served(await under.sendRequest({ stream }, { messages: MESSAGES, [name]: 32 }))
        served(await under.sendRequest({ stream }, { messages: MESSAGES, [name]: 32 }))
        const { body } = a.seen.at(-1)!
        const caps = ['max_tokens', 'max_completion_tokens'].filter((cap) => cap in body)
        expect(caps).toHaveLength(1)
        expect(body[caps[0]!]).toBe(32)
      }
    }
    const known = await under.sendRequest({ defaultMaxTokens: 64 })
    expect(attemptsOf(known)).toBe(1)
    expect(a.seen.at(-1)!.body).toHaveProperty(/^(gpt|o\d|our-best)/.test(one.model) ? one.capName : 'max_tokens', 64)
  })

  test.for(cases)('$server as $model serves a stream with its usage', async (one) => {
    const { under } = await open(one)
    const { end, text } = served(await under.sendRequest({ stream: true, includeUsage: true }))
    expect(text()).toContain('"usage":{')
    expect(end!.usage.completionTokens).toBeGreaterThan(0)
  })

  test.for(cases)('$server as $model serves all options: the router leaves some out and names them', async (one) => {
    const { a, under } = await open(one)
    const sendRequest = () => under.sendRequest({ defaultMaxTokens: 64 }, { messages: MESSAGES, ...OPTIONS })
    for (const job of [await sendRequest(), await sendRequest()]) {
      served(job)
      expect(job.head!.droppedParams?.toSorted() ?? []).toEqual(one.drops(one.model).toSorted())
    }
    const { body } = a.seen.at(-1)!
    for (const [name, value] of Object.entries(OPTIONS)) {
      if (!one.drops(one.model).includes(name)) expect(body).toHaveProperty(name, value)
    }
    expect(attemptsOf(await sendRequest())).toBe(1)
  })

  test.for(cases)("$server as $model takes a developer's message", async (one) => {
    const { under } = await open(one)
    const messages = [{ role: 'developer', content: 'Be brief' }, ...MESSAGES]
    for (let i = 0; i < 2; i++) {
      const job = served(await under.sendRequest({}, { messages }))
      expect(job.head!.droppedParams).toBeUndefined()
      if (i > 0) expect(attemptsOf(job)).toBe(1)
    }
  })

  test.for(cases.filter(({ refuses }) => refuses.length > 0))(
    '$server as $model refuses a parameter that changes the meaning, and the client hears its name',
    async (one) => {
      const { under } = await open(one)
      for (const name of one.refuses) {
        const { failure } = await under.sendRequest({}, { messages: MESSAGES, [name]: 'x' })
        expect(failure).toMatchObject({ code: 'BACKEND_REFUSED', backendStatus: 400 })
        expect(failure!.backendBody).toContain(`'${name}'`)
      }
    },
  )
})

describe('a server that takes all parameters', () => {
  test('gets the bytes of the client', async () => {
    const { a, under } = await open({ reply: (response) => sendJson(response, 200, COMPLETION), model: 'qwen' })
    const body = { messages: MESSAGES, ...OPTIONS, max_tokens: 5 }
    served(await under.sendRequest({}, body))
    expect(a.seen[0]!.text).toBe(`{"model":"qwen",${JSON.stringify(body).slice(1)}`)
  })
})

const COMPLETION = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
}

describe("a client's refusals teach the router", () => {
  const PARAMETERS = ['max_tokens', 'max_completion_tokens', ...Object.keys(OPTIONS)]

  /** It refuses values, as all servers do, and quotes the client. It refuses no parameter. */
  const quoting = (body: Record<string, unknown>) => {
    const [message] = body.messages as { content: string }[]
    return [
      { error: { message: message!.content, param: null, code: null } },
      { error: { message: `${message!.content} is no message`, type: 'invalid_request_error', param: 'messages' } },
      { object: 'error', message: message!.content, code: 400 },
      { code: 'Client specified an invalid argument', error: message!.content },
      {
        detail: [{ type: 'extra_forbidden', loc: ['body', 'metadata', 'temperature'], msg: 'Extra inputs', input: 1 }],
      },
      { error: { message: "Invalid 'temperature': decimal above maximum value.", param: 'temperature', code: null } },
      // FastAPI and vLLM return the whole request, with the parameters that the router wrote.
      { detail: [{ type: 'missing', loc: ['body', 'messages', 0, 'name'], msg: 'Field required', input: body }] },
      { error: { message: `1 validation error: Field required, input_value=${JSON.stringify(body)}`, code: 400 } },
      {
        object: 'error',
        message: `[{'type': 'missing', 'loc': ('body',), 'input': ${JSON.stringify(body)}}]`,
        code: 400,
      },
      { error: { message: 'max_tokens is too large: 9. At most 8.', param: 'max_tokens', code: 'invalid_value' } },
    ]
  }
  const words = (name: string) => [
    `Unsupported parameter: '${name}' is not supported with this model.`,
    `Unrecognized request argument supplied: ${name}`,
    `Unsupported value: '${name}' does not support 0 with this model. Only the default (1) value is supported.`,
    `Argument not supported on this model: ${name}`,
    `[{'type': 'extra_forbidden', 'loc': ('body', '${name}'), 'msg': 'Extra inputs are not permitted', 'input': 1}]`,
    `Invalid JSON payload received. Unknown name "${name}": Cannot find field.`,
    JSON.stringify({ detail: [{ type: 'extra_forbidden', loc: ['body', name] }] }),
    JSON.stringify({ error: { code: 'unsupported_parameter', param: name, message: name } }),
  ]
  const hostile = fc.record({
    content: fc.constantFrom(...PARAMETERS).chain((name) => fc.constantFrom(...words(name))),
    carried: fc.subarray(PARAMETERS),
    form: fc.nat({ max: 9 }),
    status: fc.constantFrom(400, 422),
    stream: fc.boolean(),
  })

  test('no refusal that quotes the client, or is of a value, changes a later request of another', async () => {
    let say: { status: number; form: number } | null = null
    const a = await backend((response, request, socket) =>
      say ? sendJson(response, say.status, quoting(request.body)[say.form]!) : goodChat(response, request, socket),
    )
    const innocent = { messages: MESSAGES, ...OPTIONS, max_tokens: 5 }
    const written = '{"model":"model-a","stream":true,"stream_options":{"include_usage":true},'
    await fc.assert(
      fc.asyncProperty(hostile, async ({ content, carried, form, status, stream }) => {
        await using under = await startRouterUnderTest(poolOver([a.url]))
        const options = Object.fromEntries(carried.map((name) => [name, 1]))
        say = { status, form }
        const refused = await under.sendRequest(
          { stream, defaultMaxTokens: 9 },
          { messages: [{ role: 'user', content }], ...options },
        )
        expect(refused.failure).toMatchObject({ code: 'BACKEND_REFUSED' })
        say = null
        const job = served(await under.sendRequest({ stream: true }, innocent))
        expect(job.head!.droppedParams).toBeUndefined()
        expect(a.seen.at(-1)!.text).toBe(`${written}${JSON.stringify(innocent).slice(1)}`)
      }),
      { numRuns: 150 },
    )
  })

  test('a refusal at one reasoning effort changes nothing for another', async () => {
    const { a, under } = await open({ reply: STRICT_SERVERS.openai!.reply, model: 'gpt-5.4-mini' })
    const header: Partial<JobHeader> = {}
    const thinking = await under.sendRequest(header, { messages: MESSAGES, temperature: 0, reasoning_effort: 'high' })
    expect(served(thinking).head!.droppedParams).toEqual(['temperature'])
    const not = await under.sendRequest(header, { messages: MESSAGES, temperature: 0, reasoning_effort: 'none' })
    expect(served(not).head!.droppedParams).toBeUndefined()
    expect(a.seen.at(-1)!.body).toMatchObject({ temperature: 0, reasoning_effort: 'none' })
  })

  const requested = fc.record(
    {
      ...Object.fromEntries(Object.entries(OPTIONS).map(([name, value]) => [name, fc.constant<unknown>(value)])),
      max_tokens: fc.constantFrom<unknown>(32, null),
      max_completion_tokens: fc.constantFrom<unknown>(16, null),
      reasoning_effort: fc.constantFrom<unknown>('none', 'low', 'high', 'unheard-of', null),
      stop: fc.constant<unknown>('x'),
      role: fc.constantFrom('system', 'developer', 'user'),
    },
    { requiredKeys: ['role'] },
  )
  type Requested = Record<string, unknown> & { role: string }
  const bodyOf = ({ role, ...options }: Requested) => ({
    messages: [{ role, content: 'Be brief' }, ...MESSAGES],
    ...options,
  })

  test.for(cases)(
    'of $server as $model: after any requests of others, a request is written as if it were the first',
    async (one) => {
      const { a, under: long } = await open(one)
      async function sendRequest(under: RouterUnderTest, requested: Requested, header: Partial<JobHeader>) {
        const { head, failure } = await under.sendRequest(header, bodyOf(requested))
        const { code, backendBody } = failure ?? {}
        return { dropped: head?.droppedParams, code, backendBody, ...(failure ? {} : { body: a.seen.at(-1)!.body }) }
      }
      const header = fc.record({ stream: fc.boolean(), defaultMaxTokens: fc.constantFrom(undefined, 64) })
      await fc.assert(
        fc.asyncProperty(
          fc.array(requested as fc.Arbitrary<Requested>, { maxLength: 3 }),
          requested as fc.Arbitrary<Requested>,
          header,
          async (others, mine, job) => {
            for (const other of others) await sendRequest(long, other, {})
            await using fresh = await startRouterUnderTest(poolOver([a.url], { targets: [{ model: one.model }] }))
            expect(await sendRequest(long, mine, job)).toEqual(await sendRequest(fresh, mine, job))
          },
        ),
        { numRuns: 25 },
      )
    },
  )

  test('a retry goes to the same target, and costs it neither its health nor the pool a repeat', async () => {
    const strict = STRICT_SERVERS['openai under a name of the operator']!.reply
    const [a, b] = [await backend(strict), await backend(strict)]
    const under = await router(poolOver([a.url, b.url], { targets: [{ priority: 1 }, { priority: 1 }] }))
    for (let i = 0; i < 10; i++) {
      const { attempts } = served(
        await under.sendRequest({ defaultMaxTokens: 9 }, { messages: MESSAGES, ...OPTIONS }),
      ).end!
      const outcomes = attempts.map(({ outcome }) => outcome)
      expect(outcomes).toEqual([...outcomes.slice(1).map(() => 'http_400'), 'served'])
      expect(new Set(attempts.map(({ backend: id }) => id)).size).toBe(1)
      // Each complaint is made once.
      expect(outcomes.length).toBeLessThanOrEqual(Object.keys(OPTIONS).length + 1)
    }
  })

  test('a server that refuses at random is called no more often than there are parameters', async () => {
    const NAMES = [...PARAMETERS, 'stream_options', 'stop', 'messages']
    const complaints = fc.array(fc.constantFrom(...NAMES), { minLength: 60, maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(complaints, fc.subarray(PARAMETERS), fc.boolean(), async (names, carried, stream) => {
        const a = await startHttpBackend((response) => {
          const param = names[a.seen.length - 1]
          sendJson(response, 400, { error: { message: 'no', param, code: 'unsupported_parameter' } })
        })
        await using _a = a
        await using under = await startRouterUnderTest(poolOver([a.url]))
        const options = Object.fromEntries(carried.map((name) => [name, 1]))
        const { failure } = await under.sendRequest({ stream, defaultMaxTokens: 9 }, { messages: MESSAGES, ...options })
        expect(failure).toMatchObject({ code: 'BACKEND_REFUSED', backendStatus: 400 })
        expect(a.seen.length).toBeLessThanOrEqual(PARAMETERS.length + 2)
      }),
      { numRuns: 60 },
    )
  })

  test('a server that refuses both names of a cap gets none of ours, and a client hears that it takes none', async () => {
    const { a, under } = await open({
      model: 'm',
      reply: (response, { body }) => {
        const name = ['max_tokens', 'max_completion_tokens'].find((cap) => cap in body)
        if (!name) return sendJson(response, 200, COMPLETION)
        const message = `Unsupported parameter: '${name}' is not supported with this model.`
        return sendJson(response, 400, { error: { message, param: name, code: 'unsupported_parameter' } })
      },
    })
    served(await under.sendRequest({ defaultMaxTokens: 9 }))
    expect(a.seen).toHaveLength(3)
    const { failure } = await under.sendRequest({}, { messages: MESSAGES, max_tokens: 4 })
    expect(failure).toMatchObject({ code: 'BACKEND_REFUSED', backendStatus: 400 })
    expect(a.seen).toHaveLength(4)
  })
})
