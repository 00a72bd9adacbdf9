/**
 * WebSocket mode of the Responses API through a whole gateway: by the library `ws`, and by the official client.
 */

import { once } from 'node:events'
import { request } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import OpenAI from 'openai'
import { ResponsesWS } from 'openai/resources/responses/ws'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { parseKey } from '@gateway/contracts/api-key'
import type { UsageEvent } from '@gateway/contracts/usage-event'
import { faultPageSection } from '@gateway/testing/fault-page'
import { type ScriptedBackend, startScriptedBackend } from './coding-tools/scripted-backend.ts'
import { configOver, MODEL } from './coding-tools/workshop.ts'
import { type GatewayWithoutStores, startGatewayWithoutStores } from './ways-in/gateway-without-stores.ts'
import { connect, refusedUpgrade, socketUrl, textOf, type TurnClient, type TurnEvent } from './websocket/client.ts'

const stack = new AsyncDisposableStack()
let backend: ScriptedBackend
let gateway: GatewayWithoutStores
let scripted: ScriptedBackend['reply']
beforeAll(async () => {
  backend = stack.use(await startScriptedBackend())
  scripted = backend.reply
  gateway = stack.use(await startGatewayWithoutStores(configOver(backend.url)))
})
afterAll(() => stack.disposeAsync())
afterEach(() => {
  backend.reply = scripted
})

const HELLO = { model: MODEL, input: 'Hello' }

test('an upgrade without a live key is refused before the connection is a WebSocket', async () => {
  const url = socketUrl(gateway.url)
  const none = await refusedUpgrade(url)
  expect(none).toMatchObject({ status: 401, body: { error: { code: 'NO_AUTH' } } })
  expect(none.headers['x-request-id']).toMatch(/^[\da-f-]{36}$/)
  const typo = await refusedUpgrade(url, { headers: { authorization: `Bearer ${gateway.key.slice(0, -1)}` } })
  expect(typo).toMatchObject({ status: 401, body: { error: { code: 'INVALID_KEY' } } })
})

test('an upgrade at another path, and a GET without one, get 426 at once, so that Codex goes on over HTTP', async () => {
  const headers = { authorization: `Bearer ${gateway.key}` }
  for (const path of ['/v1/chat/completions', '/v1/models', '/v1/realtime', '/']) {
    const refused = await refusedUpgrade(socketUrl(gateway.url, path), { headers })
    expect(refused).toMatchObject({ status: 426, body: { error: { code: 'UPGRADE_REQUIRED' } } })
    expect(refused.headers['upgrade']).toBe('HTTP/1.1')
  }
  const plain = await fetch(`${gateway.url}/v1/responses`, { headers })
  expect([plain.status, plain.headers.get('upgrade')]).toEqual([426, 'websocket'])
  expect(await plain.json()).toMatchObject({ error: { code: 'UPGRADE_REQUIRED' } })
})

test('an upgrade of another version of WebSocket, or with an Idempotency-Key, is refused with the reason', async () => {
  const headers = { authorization: `Bearer ${gateway.key}` }
  const old = await refusedUpgrade(socketUrl(gateway.url), { headers, protocolVersion: 8 })
  expect(old).toMatchObject({ status: 426, body: { error: { message: expect.stringContaining('13') as string } } })
  const once = await refusedUpgrade(socketUrl(gateway.url), { headers: { ...headers, 'idempotency-key': 'a' } })
  expect(once).toMatchObject({
    status: 400,
    body: { error: { message: expect.stringMatching(/^Idempotency-Key/) as string } },
  })
})

test("a page of another origin opens no socket; the gateway's own address as origin is no other page", async () => {
  const headers = { authorization: `Bearer ${gateway.key}` }
  const foreign = await refusedUpgrade(socketUrl(gateway.url), { headers, origin: 'https://evil.example' })
  expect(foreign).toMatchObject({ status: 403, body: { error: { code: 'FORBIDDEN' } } })
  await using client = await connect(gateway.url, gateway.key, { origin: gateway.url })
  backend.script = [{ text: 'Hi' }]
  expect(textOf(await client.turn(HELLO))).toBe('Hi')
})

test('a request that offers HTTP/2 in the clear, as Java’s client does, is served over HTTP/1.1', async () => {
  const sent = request(`${gateway.url}/v1/models`, {
    headers: { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABkAAQ' },
  }).end()
  const [response] = (await once(sent, 'response')) as [{ statusCode: number; resume(): void }]
  response.resume()
  expect(response.statusCode).toBe(200)
})

test('requests of one connection run one after another, each with the events of the stream, and each is in the ledger once', async () => {
  const key = await gateway.newKey()
  const billed = backend.reported.length
  backend.script = [{ thought: 'Hm.', text: 'Hello there' }]
  await using client = await connect(gateway.url, key)
  client.send({ type: 'response.create', ...HELLO, store: false })
  client.send({ type: 'response.create', ...HELLO, stream: true })
  const turns = [await client.read(), await client.read()]
  for (const events of turns) {
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, at) => at))
    expect(events[0]!.type).toBe('response.created')
    expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { status: 'completed', store: false } })
  }
  expect(turns[0]![0]!.response!.id).not.toBe(turns[1]![0]!.response!.id)
  await expect.poll(() => reportsOf(key).length).toBe(2)
  const tokens = (reports: { usage: { promptTokens: number; completionTokens: number } }[]) =>
    reports.map(({ usage }) => [usage.promptTokens, usage.completionTokens])
  expect(tokens(reportsOf(key))).toEqual(
    backend.reported.slice(billed).map((usage) => [usage.prompt_tokens, usage.completion_tokens]),
  )
  for (const report of reportsOf(key)) {
    expect(report).toMatchObject({ delivered: true, outcome: 'completed', streamed: true })
  }
})

test('a response is continued by its id and new items alone, and the backend gets the whole conversation', async () => {
  backend.script = [
    { text: 'Let me look.', calls: [{ name: 'get_weather', args: { city: 'Lisbon' } }] },
    { text: 'It is sunny.' },
  ]
  const tools = [{ type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} } }]
  await using client = await connect(gateway.url, gateway.key)
  const first = (await client.turn({ model: MODEL, tools, input: 'How is it in Lisbon?' })).at(-1)!.response!
  const call = first.output.find(({ type }) => type === 'function_call') as unknown as { call_id: string }
  const result = { type: 'function_call_output', call_id: call.call_id, output: 'sunny' }
  const second = await client.turn({ model: MODEL, tools, previous_response_id: first.id, input: [result] })
  expect(textOf(second)).toContain('It is sunny.')
  expect(backend.seen.at(-1)!.body['messages']).toMatchObject([
    { role: 'user', content: 'How is it in Lisbon?' },
    { role: 'assistant', content: 'Let me look.', tool_calls: [{ id: call.call_id }] },
    { role: 'tool', tool_call_id: call.call_id, content: 'sunny' },
  ])
  for (const { response } of second.filter((event) => event.response)) {
    expect(response).toMatchObject({ previous_response_id: first.id })
  }
  const third = await client.turn({ model: MODEL, previous_response_id: second.at(-1)!.response!.id, input: 'Thanks' })
  expect(third.at(-1)!.type).toBe('response.completed')
  expect((backend.seen.at(-1)!.body['messages'] as object[]).slice(3)).toMatchObject([
    { role: 'assistant', content: 'It is sunny.' },
    { role: 'user', content: 'Thanks' },
  ])
})

test('a response of another connection, or of an edge that keeps nothing, is previous_response_not_found', async () => {
  backend.script = [{ text: 'OK' }]
  await using one = await connect(gateway.url, gateway.key)
  const { id } = (await one.turn(HELLO)).at(-1)!.response!
  await using other = await connect(gateway.url, gateway.key)
  const [missing] = await other.turn({ ...HELLO, previous_response_id: id })
  expect(missing).toEqual({
    type: 'error',
    status: 400,
    error: {
      type: 'invalid_request_error',
      code: 'previous_response_not_found',
      message: `Previous response with id '${id}' not found.`,
      param: 'previous_response_id',
      gateway_code: 'VALIDATION_ERROR',
    },
    headers: { 'x-request-id': expect.any(String) as string, 'x-should-retry': 'false' },
  })
  expect((await other.turn(HELLO)).at(-1)!.type).toBe('response.completed')
  // The connection that has it still does.
  expect((await one.turn({ ...HELLO, previous_response_id: id })).at(-1)!.type).toBe('response.completed')
  const http = await fetch(`${gateway.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...HELLO, previous_response_id: id }),
  })
  expect(http.status).toBe(400)
})

test('a continuation that fails ends its chain: its response cannot be continued again', async () => {
  backend.script = [{ text: 'OK' }]
  await using client = await connect(gateway.url, gateway.key)
  const { id } = (await client.turn(HELLO)).at(-1)!.response!
  const stray = { type: 'function_call_output', call_id: 'call_nobody_made', output: 'late' }
  const failed = (await client.turn({ model: MODEL, previous_response_id: id, input: [stray] })).at(-1)!
  expect(failed).toMatchObject({ type: 'error', status: 400 })
  const [again] = await client.turn({ ...HELLO, previous_response_id: id })
  expect(again).toMatchObject({ status: 400, error: { code: 'previous_response_not_found' } })
})

test('an input is kept without a model, and the request that continues it brings it along; only that one is charged', async () => {
  const key = await gateway.newKey()
  const calls = backend.seen.length
  backend.script = [{ text: 'OK' }]
  await using client = await connect(gateway.url, key)
  const warm = await client.turn({ model: MODEL, generate: false, input: [{ role: 'user', content: 'Be brief.' }] })
  expect(warm.map(({ type }) => type)).toEqual(['response.created', 'response.in_progress', 'response.completed'])
  const { id, output } = warm.at(-1)!.response!
  expect(output).toEqual([])
  const empty = await client.turn({ model: MODEL, generate: false, input: [], stream_id: 'codex' })
  expect(empty.at(-1)).toMatchObject({ type: 'response.completed', stream_id: 'codex' })
  expect(backend.seen.length).toBe(calls)
  expect((await client.turn({ ...HELLO, previous_response_id: id })).at(-1)!.type).toBe('response.completed')
  expect(backend.seen.at(-1)!.body['messages']).toEqual([{ role: 'user', content: 'Be brief.\n\nHello' }])
  const continued = await client.turn({
    ...HELLO,
    stream_id: 'codex',
    previous_response_id: empty.at(-1)!.response!.id,
  })
  expect(continued.at(-1)).toMatchObject({ type: 'response.completed', stream_id: 'codex' })
  expect(backend.seen.at(-1)!.body['messages']).toEqual([{ role: 'user', content: 'Hello' }])
  await expect.poll(() => reportsOf(key).length).toBe(2)
})

test('the events of a named stream carry its name, and so do its errors; a wrong name is refused', async () => {
  backend.script = [{ text: 'OK' }]
  await using client = await connect(gateway.url, gateway.key)
  const events = await client.turn({ ...HELLO, stream_id: 'main' })
  expect(new Set(events.map(({ stream_id: id }) => id))).toEqual(new Set(['main']))
  const [missing] = await client.turn({ ...HELLO, stream_id: 'main', previous_response_id: 'resp_none' })
  expect(missing).toMatchObject({ stream_id: 'main', error: { code: 'previous_response_not_found' } })
  const [wrong] = await client.turn({ ...HELLO, stream_id: 'no spaces' })
  expect(wrong).toMatchObject({ status: 400, error: { code: 'invalid_stream_id', param: 'stream_id' } })
})

test('a message that is no request gets the error that says so, and the connection goes on', async () => {
  backend.script = [{ text: 'OK' }]
  await using client = await connect(gateway.url, gateway.key)
  const errorOf = async (message: string | Buffer) => {
    client.socket.send(message)
    return (await client.read()).at(-1)!
  }
  expect(await errorOf('{"type":"response.create",')).toMatchObject({
    status: 400,
    error: { code: 'VALIDATION_ERROR' },
  })
  expect(await errorOf('[1]')).toMatchObject({ status: 400, error: { code: 'VALIDATION_ERROR' } })
  expect(await errorOf('{"type":"response.steer"}')).toMatchObject({ status: 400, error: { param: 'type' } })
  expect(await errorOf(Buffer.from('{"type":"response.create"}'))).toMatchObject({ status: 400 })
  expect(await errorOf('{"type":"response.create","model":"nobody","input":"Hi"}')).toMatchObject({
    status: 404,
    error: { code: 'MODEL_NOT_FOUND' },
  })
  expect(await errorOf('{"type":"response.create","background":true,"input":"Hi"}')).toMatchObject({ status: 400 })
  client.send({ type: 'response.processed', response_id: 'resp_1' })
  expect((await client.turn(HELLO)).at(-1)!.type).toBe('response.completed')
})

test("OpenAI's own client runs two turns on one connection", async () => {
  backend.script = [{ text: 'OK' }]
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key })
  const socket = new ResponsesWS(client)
  const events = socket.stream()[Symbol.asyncIterator]()
  const turn = async (previous: string | undefined) => {
    socket.send({
      type: 'response.create',
      model: MODEL,
      input: 'Hi',
      store: false,
      previous_response_id: previous ?? null,
    })
    for (;;) {
      const { value: event, done } = await events.next()
      if (done) throw new Error('the connection was closed')
      if (event.type === 'error') throw event.error
      if (event.type === 'message' && event.message.type === 'response.completed') return event.message.response
    }
  }
  const first = await turn(undefined)
  const second = await turn(first.id)
  expect(second.output_text ?? second.output).toBeTruthy()
  expect(backend.seen.at(-1)!.body['messages']).toMatchObject([{ content: 'Hi' }, { content: 'OK' }, { content: 'Hi' }])
  socket.close()
})

test('a large conversation is continued, and the backend gets all of it', async () => {
  backend.script = [{ text: 'OK' }]
  await using client = await connect(gateway.url, gateway.key)
  const large = `"quoted" \\ and é `.repeat(60_000)
  const first = await servedTurn(client, { model: MODEL, input: [{ role: 'user', content: large }] })
  const second = await servedTurn(client, { ...HELLO, previous_response_id: first.response!.id })
  expect(second.type).toBe('response.completed')
  expect(backend.seen.at(-1)!.body['messages']).toEqual([
    { role: 'user', content: large },
    { role: 'assistant', content: 'OK' },
    { role: 'user', content: 'Hello' },
  ])
})

/** The last event of a turn. On a busy machine the edge may send its client away first, for a time that it names. */
async function servedTurn(client: TurnClient, fields: object): Promise<TurnEvent> {
  while (true) {
    const last = (await client.turn(fields)).at(-1)!
    if (last.error?.code !== 'rate_limit_exceeded') return last
    await sleep(last.error.retry_after_ms)
  }
}

/** A frame of a client, with a mask of zeros where it is masked. */
function frame(head: number, payload: Buffer, isMasked = true): Buffer {
  const mask = isMasked ? Buffer.alloc(4) : Buffer.alloc(0)
  return Buffer.concat([Buffer.from([head, (isMasked ? 0x80 : 0) | payload.length]), mask, payload])
}

const FIN_TEXT = 0x81

test.each<[string, Buffer, number]>([
  ['a frame without a mask', frame(FIN_TEXT, Buffer.from('{}'), false), 1002],
  ['a reserved bit', frame(FIN_TEXT | 0x40, Buffer.from('{}')), 1002],
  ['an unknown kind of frame', frame(0x83, Buffer.from('{}')), 1002],
  ['a continuation of nothing', frame(0x80, Buffer.from('{}')), 1002],
  ['a ping in pieces', frame(0x09, Buffer.from('x')), 1002],
  ['bytes that are no UTF-8', frame(FIN_TEXT, Buffer.from([0xff, 0xfe])), 1007],
])('%s closes its own connection alone', async (_, bytes, code) => {
  await using other = await connect(gateway.url, gateway.key)
  const headers = {
    ...{ authorization: `Bearer ${gateway.key}`, connection: 'Upgrade', upgrade: 'websocket' },
    ...{ 'sec-websocket-version': '13', 'sec-websocket-key': Buffer.alloc(16).toString('base64') },
  }
  const [, socket] = (await once(request(`${gateway.url}/v1/responses`, { headers }).end(), 'upgrade')) as [
    unknown,
    Socket,
  ]
  const received: Buffer[] = []
  socket.on('data', (piece: Buffer) => received.push(piece)).on('error', () => {})
  socket.write(bytes)
  await once(socket, 'close')
  // A close frame: its head, its length, its code.
  expect(Buffer.concat(received).subarray(0, 4)).toMatchObject(
    Buffer.from([0x88, received[0]![1]!, code >> 8, code & 0xff]),
  )
  backend.script = [{ text: 'OK' }]
  expect((await other.turn(HELLO)).at(-1)!.type).toBe('response.completed')
})

/** Reports of other tests' accounts may still come. */
function reportsOf(key: string): UsageEvent[] {
  const { accountTag } = parseKey(key)!
  return gateway.reports.filter(({ account }) => account === accountTag)
}

/** A response of many pieces, one every few milliseconds. */
function playSlowly(pieces: number, everyMs = 20, times = 1): void {
  let left = times
  backend.reply = (response) => {
    if (--left === 0) backend.reply = scripted
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    let sent = 0
    const beat = setInterval(() => {
      if (sent++ < pieces) return void response.write(chunkOf({ content: `${sent} ` }))
      clearInterval(beat)
      response.write(chunkOf({}, 'stop'))
      const usage = { prompt_tokens: 5, completion_tokens: pieces, total_tokens: 5 + pieces }
      response.write(`data: ${JSON.stringify({ ...NAMED, choices: [], usage })}\n\n`)
      response.end('data: [DONE]\n\n')
    }, everyMs)
    response.on('close', () => clearInterval(beat))
  }
}

const NAMED = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'scripted' }
function chunkOf(delta: object, end: string | null = null): string {
  return `data: ${JSON.stringify({ ...NAMED, choices: [{ index: 0, delta, finish_reason: end }] })}\n\n`
}

async function begun(client: TurnClient, fields: object = HELLO): Promise<void> {
  client.send({ type: 'response.create', ...fields })
  while ((await client.next()).delta === undefined);
}

const page = faultPageSection('websockets', ['What happens', 'What the client sees', 'What is metered'])

test('a client that leaves cancels its request, which is charged as generated', async () => {
  const key = await gateway.newKey()
  playSlowly(500)
  const client = await connect(gateway.url, key)
  await begun(client)
  client.socket.terminate()
  await backend.seen.at(-1)!.connectionClosed
  await expect.poll(() => reportsOf(key).length, { timeout: 10_000 }).toBe(1)
  expect(reportsOf(key)[0]).toMatchObject({ outcome: 'client_gone', delivered: false })
  page.row('the client leaves within a response', '–', 'once: `client_gone`, as generated')
})

test('a revoked key ends its sockets within a second: the running response fails, and a socket at rest says why', async () => {
  const key = await gateway.newKey()
  await using running = await connect(gateway.url, key)
  await using resting = await connect(gateway.otherUrl, key)
  await using other = await connect(gateway.url, gateway.key)
  playSlowly(500)
  await begun(running)
  const revokedAtMs = performance.now()
  await gateway.revoke(key)
  const last = (await running.read()).at(-1)!
  expect(last).toMatchObject({ type: 'response.failed', response: { error: { code: 'INVALID_KEY' } } })
  expect(await running.next()).toMatchObject({ type: 'error', status: 401, error: { code: 'INVALID_KEY' } })
  expect(await running.closed).toEqual({ code: 1008, reason: 'INVALID_KEY' })
  expect(await resting.next()).toMatchObject({ type: 'error', status: 401, error: { code: 'INVALID_KEY' } })
  expect(await resting.closed).toMatchObject({ code: 1008 })
  expect(performance.now() - revokedAtMs).toBeLessThan(5_000)
  backend.script = [{ text: 'OK' }]
  expect((await other.turn(HELLO)).at(-1)!.type).toBe('response.completed')
  const again = await refusedUpgrade(socketUrl(gateway.url), { headers: { authorization: `Bearer ${key}` } })
  expect(again.status).toBe(401)
  page.row(
    'the key is revoked',
    '`response.failed`, then an error with status 401 and close code 1008',
    'once: as generated',
  )
})

test('a message above the largest body closes its connection, and nobody else’s', async () => {
  await using other = await connect(gateway.url, gateway.key)
  await using client = await connect(gateway.url, gateway.key)
  client.send(`{"type":"response.create","input":"${'x'.repeat(25 * 1024 * 1024)}"}`)
  expect(await client.closed).toMatchObject({ code: 1009 })
  backend.script = [{ text: 'OK' }]
  expect((await other.turn(HELLO)).at(-1)!.type).toBe('response.completed')
  page.row('a message above 25 MB', 'close code 1009', 'nothing')
})

test('requests behind the running one wait their turn, also more than the edge reads ahead', async () => {
  const key = await gateway.newKey()
  backend.script = [{ text: 'OK' }]
  await using client = await connect(gateway.url, key)
  for (let count = 0; count < 40; count++) client.send({ type: 'response.create', ...HELLO })
  for (let count = 0; count < 40; count++) expect((await client.read()).at(-1)!.type).toBe('response.completed')
  await expect.poll(() => reportsOf(key).length).toBe(40)
  page.row('40 requests at once on one connection', 'each whole response, one after another', 'each once')
})

test('a client that reads slowly slows its own backend and gets the whole response', async () => {
  await using client = await connect(gateway.url, gateway.key)
  const pieces = 100_000
  let written = 0
  backend.reply = async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (; written < pieces; written++) {
      if (!response.write(chunkOf({ content: 'y' }))) await once(response, 'drain')
    }
    response.write(chunkOf({}, 'stop'))
    const usage = { prompt_tokens: 5, completion_tokens: pieces, total_tokens: 5 + pieces }
    response.end(`data: ${JSON.stringify({ ...NAMED, choices: [], usage })}\n\ndata: [DONE]\n\n`)
  }
  client.socket.pause()
  client.send({ type: 'response.create', ...HELLO, max_output_tokens: 400_000 })
  await expect.poll(() => written > 0 && written < pieces).toBe(true)
  await untilStill(() => written)
  expect(written).toBeLessThan(pieces)
  client.socket.resume()
  const events = await client.read()
  expect(events.at(-1)!.type).toBe('response.completed')
  expect(textOf(events).length).toBe(pieces)
  page.row('the client reads nothing for a while', 'the whole response; its backend waits meanwhile', 'once, completed')
}, 60_000)

/** Resolves when a figure has stayed the same for a second. */
async function untilStill(figure: () => number): Promise<void> {
  for (let before = -1; before !== figure();) {
    before = figure()
    await sleep(1_000)
  }
}

test('a thousand requests on one connection leave nothing behind', async () => {
  backend.script = [{ text: 'OK' }]
  const client = await connect(gateway.url, gateway.key)
  const { id } = (await client.turn(HELLO)).at(-1)!.response!
  let previous = id
  for (let count = 0; count < 1_000; count++) {
    const chained = count % 10 === 0 ? {} : { previous_response_id: previous }
    const last = (await client.turn({ ...HELLO, ...chained })).at(-1)!
    expect(last.type).toBe('response.completed')
    previous = last.response!.id
  }
  client.socket.close()
  await client.closed
  await expect.poll(() => gateway.bytesInFlight()).toBe(0)
}, 120_000)

test('one network of guests opens so many sockets, and others open theirs', async () => {
  const key = await gateway.newKey('guest-device')
  const open: TurnClient[] = []
  const headers = { 'x-forwarded-for': '198.51.100.7' }
  for (let count = 0; count < 32; count++) open.push(await connect(gateway.url, key, { headers }))
  const more = { authorization: `Bearer ${await gateway.newKey('guest-device')}`, ...headers }
  const refused = await refusedUpgrade(socketUrl(gateway.url), { headers: more })
  expect(refused).toMatchObject({ status: 429, body: { error: { code: 'rate_limit_exceeded', type: 'requests' } } })
  await using elsewhere = await connect(gateway.url, key, { headers: { 'x-forwarded-for': '198.51.100.8' } })
  expect((await elsewhere.turn(HELLO)).at(-1)).toMatchObject({ type: 'error', error: { type: 'plan_limit' } })
  await open.pop()![Symbol.asyncDispose]()
  await expect.poll(() => connect(gateway.url, key, { headers }).then((client) => open.push(client))).toBeTruthy()
  await Promise.all(open.map((client) => client[Symbol.asyncDispose]()))
})

test('a router that is lost within responses ends them with an error event; the other ones and all connections go on', async () => {
  const key = await gateway.newKey()
  const clients = await Promise.all(Array.from({ length: 8 }, () => connect(gateway.url, key)))
  playSlowly(100, 50, clients.length)
  await Promise.all(clients.map((client) => begun(client)))
  gateway.loseRouter()
  const ends = await Promise.all(clients.map(async (client) => (await client.read()).at(-1)!))
  const failed = ends.filter(({ type }) => type === 'response.failed')
  expect(failed.length).toBeGreaterThan(0)
  expect(failed.length).toBeLessThan(clients.length)
  for (const { response } of failed) expect(response!.error).toMatchObject({ code: 'UPSTREAMS_EXHAUSTED' })
  expect(ends.filter(({ type }) => type === 'response.completed').length).toBe(clients.length - failed.length)
  await expect.poll(() => reportsOf(key).length, { timeout: 10_000 }).toBe(clients.length)
  const outcomes = reportsOf(key).map(({ outcome }) => outcome)
  expect(outcomes.filter((outcome) => outcome === 'router_lost').length).toBe(failed.length)
  backend.script = [{ text: 'OK' }]
  for (const client of clients) {
    expect((await client.turn(HELLO)).at(-1)!.type).toBe('response.completed')
    await client[Symbol.asyncDispose]()
  }
  page.row(
    'a router is lost within a response',
    '`response.failed`; the connection goes on',
    'once: what was shown, marked estimated',
  )
}, 60_000)

test('an edge that stops ends the running response, begins no other, and says that it goes away', async () => {
  const key = await gateway.newKey()
  await using running = await connect(gateway.url, key)
  await using resting = await connect(gateway.url, key)
  playSlowly(40)
  await begun(running)
  running.send({ type: 'response.create', ...HELLO })
  const stopped = gateway.stopEdge()
  expect(await resting.closed).toMatchObject({ code: 1001 })
  expect((await running.read()).at(-1)!.type).toBe('response.completed')
  expect(await running.next()).toMatchObject({ type: 'error', status: 503, error: { code: 'SERVICE_UNAVAILABLE' } })
  expect(await running.closed).toMatchObject({ code: 1001 })
  await stopped
  expect(reportsOf(key)).toMatchObject([{ outcome: 'completed', delivered: true }])
  // Its clients connect to another edge, and begin their conversation again.
  await using next = await connect(gateway.otherUrl, gateway.key)
  backend.script = [{ text: 'OK' }]
  expect((await next.turn(HELLO)).at(-1)!.type).toBe('response.completed')
  page.row('the edge stops', 'the whole response, then close code 1001', 'once, completed')
})

test('docs/fault-table.md states the observed outcomes of WebSockets, and no more', () => page.close())
