import { once } from 'node:events'
import { randomBytes } from 'node:crypto'
import { Agent, createServer, type IncomingMessage, request } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import {
  ACCOUNT_TAG_LENGTH,
  formatKey,
  KEY_ID_LENGTH,
  KEY_SECRET_LENGTH,
  randomBase62,
} from '@gateway/contracts/api-key'
import { GatewayError } from '@gateway/contracts/errors'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MOST_LEVELS } from '@gateway/contracts/json'
import { loadDefaultConfig } from '@gateway/config/load-config'
import { MOMENT_MS, SHARE } from '../core/cpu-shares.ts'
import type { EdgeContext } from '../edge-context.ts'
import { clientNetwork } from './client-network.ts'
import { LargeJson } from '../requests/parse-json.ts'
import { endAfterBody } from './drop-body.ts'
import { type Fail, type Step, type StepResponse, takeSteps } from './take-steps.ts'
import { type BytesInFlight, LARGEST_BODY_BYTES, reservationOf, trackBytesInFlight } from './memory-budget.ts'
import { readClaimed, readJsonBody, readSmallJsonBody } from './read-json-body.ts'

const GIGABYTE = 1024 ** 3

let port: number
let bytes: BytesInFlight
const server = createServer()
beforeAll(async () => {
  const echo: Step = (sent, response) => void response.end(JSON.stringify({ body: sent.body ?? null }))
  bytes = trackBytesInFlight(GIGABYTE, clientNetwork(false), () => {})
  const renderError: Fail = (error, request, response) => {
    if (!(error instanceof GatewayError)) throw error
    const body = JSON.stringify({ code: error.code, message: error.message })
    response.setHeader('content-length', Buffer.byteLength(body))
    endAfterBody({ bytes }, request, response, body)
  }
  const listenerOf = (read: Step) => takeSteps('/', [read, echo], renderError)
  const admission = { admit: async () => ({ kind: 'allow', quotaStatus: { plan: 'free' } }) }
  const planOf = (account: string) =>
    ({ a: 'free', team: 'free', neighbour: 'free', device: 'guest-device' })[account] ?? null
  const plans = { planOf, policyOf: () => null }
  const shedder = { enter() {}, leave() {} }
  const edge = {
    bytes,
    admission,
    plans,
    shedder,
    config: { current: loadDefaultConfig().config },
  } as unknown as EdgeContext
  const claim: Step = ({ headers }, { locals }, next) => {
    locals['principal'] = { account: headers['x-account'] ?? 'a', keyId: 'k', keyHash: 'h' }
    locals['measured'] = { requestId: 'r' }
    next()
  }
  const reportHeld: Step = (_requested, response) => {
    const held = Object.values(bytes.budget.memoryBudgets).reduce((sum, { used }) => sum + used, 0)
    response.end(JSON.stringify(held))
  }
  const reportThread: Step = ({ body }, response) => void response.end(JSON.stringify(body instanceof LargeJson))
  const runThenReport: Step = (sent, response, next) => {
    const reservation = reservationOf(response)!
    reservation.provenAs((response.locals['principal'] as { account: string }).account, false)
    reservation.cpu.admitted()
    return reportThread(sent, response, next)
  }
  // No other test takes of its senders' shares.
  const apart = { ...edge, bytes: trackBytesInFlight(GIGABYTE, clientNetwork(false), () => {}) }
  const ways = new Map([
    ['/', listenerOf(readJsonBody)],
    ['/small', listenerOf(readSmallJsonBody)],
    ['/claimed', takeSteps('/', [claim, readClaimed(edge), reportHeld], renderError)],
    ['/thread', takeSteps('/', [claim, readClaimed(edge), reportThread], renderError)],
    ['/tool', takeSteps('/', [claim, readClaimed(apart), runThenReport], renderError)],
  ])
  server.on('checkContinue', (sent, response) => void server.emit('request', sent, response))
  server.on('request', (sent, response) => ways.get(sent.url!)!(sent, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

interface Sent {
  body: string | Buffer
  headers?: Record<string, string | number>
  path?: string
  agent?: Agent
}

async function send(sent: Sent): Promise<unknown> {
  return JSON.parse(await textTo(sent))
}

async function textTo({ body, headers, path, agent }: Sent): Promise<string> {
  const type = { 'content-type': 'application/json' }
  const sent = request({ port, path, agent, method: 'POST', headers: { ...type, ...headers } })
  sent.end(body)
  const [received] = await once(sent, 'response')
  return text(received)
}

const BODY = '{"a":1}'
const lengthOf = (body: string | Buffer) => ({ 'content-length': Buffer.byteLength(body) })
const deep = '['.repeat(MOST_LEVELS + 1) + ']'.repeat(MOST_LEVELS + 1)
const invalid = { code: 'VALIDATION_ERROR', message: 'body: is not valid JSON' }

test.each([false, true])('long integers keep their digits (packed: %s)', async (packed) => {
  const expected = '{"body":{"seed":1234567890123456789}}'
  const body = packed ? gzipSync(expected.slice(8, -1)) : expected.slice(8, -1)
  expect(await textTo({ body, headers: { ...lengthOf(body), ...(packed && { 'content-encoding': 'gzip' }) } })).toBe(
    expected,
  )
})

describe('a body reads the same whether its length is announced, it comes in chunks, or is packed', () => {
  test.each<[string, string, unknown]>([
    ['an object', '{"a":["ü",1]}', { body: { a: ['ü', 1] } }],
    ['a list', '[1]', { body: [1] }],
    ['space around it', ' \n{"a":1}\t', { body: { a: 1 } }],
    ['a byte order mark', '\uFEFF{"a":1}', { body: { a: 1 } }],
    ['more than arrives at once', JSON.stringify({ a: 'x'.repeat(200_000) }), { body: { a: 'x'.repeat(200_000) } }],
    ['a number', '1', invalid],
    ['null', 'null', invalid],
    ['a text', '"a"', invalid],
    ['space alone', '  ', invalid],
    ['half an object', '{"a":', invalid],
    ['too many levels', deep, { code: 'VALIDATION_ERROR', message: 'body: is nested deeper than 200 levels' }],
  ])('%s', async (_name, body, expected) => {
    expect(await send({ body, headers: lengthOf(body) })).toEqual(expected)
    expect(await send({ body, headers: { 'transfer-encoding': 'chunked' } })).toEqual(expected)
    const packed = gzipSync(body)
    expect(await send({ body: packed, headers: { ...lengthOf(packed), 'content-encoding': 'gzip' } })).toEqual(expected)
  })
})

test.each<[string, Sent, string]>([
  ['another type', { body: '{}', headers: { 'content-type': 'text/plain' } }, 'UNSUPPORTED_MEDIA_TYPE'],
  ['no type', { body: '{}', headers: { 'content-type': '' } }, 'UNSUPPORTED_MEDIA_TYPE'],
  ['UTF-16', { body: '{}', headers: { 'content-type': 'application/json; charset=utf-16' } }, 'UNSUPPORTED_MEDIA_TYPE'],
  ['an unknown packing', { body: '{}', headers: { 'content-encoding': 'x' } }, 'UNSUPPORTED_MEDIA_TYPE'],
  ['a broken packing', { body: '{}', headers: { 'content-encoding': 'gzip' } }, 'VALIDATION_ERROR'],
  ['more than a small route takes', { body: `{"a":"${'x'.repeat(65_536)}"}`, path: '/small' }, 'PAYLOAD_TOO_LARGE'],
])('%s is refused', async (_name, sent, code) => {
  expect(await send({ ...sent, headers: { ...lengthOf(sent.body), ...sent.headers } })).toMatchObject({ code })
})

test.each(['application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"', 'application/vnd.api+json'])(
  '%s is JSON, too',
  async (type) => {
    const body = '{"a":1}'
    expect(await send({ body, headers: { ...lengthOf(body), 'content-type': type } })).toEqual({ body: { a: 1 } })
  },
)

test.each<[string, (bytes: string) => Buffer]>([
  ['gzip', gzipSync],
  ['GZIP', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
  ['identity', Buffer.from],
  ['', Buffer.from],
])('a body may come as "%s"', async (encoding, pack) => {
  const body = pack('{"a":1}')
  expect(await send({ body, headers: { ...lengthOf(body), 'content-encoding': encoding } })).toEqual({ body: { a: 1 } })
})

test.each<[string, object, Buffer]>([
  ['announced', lengthOf(BODY), Buffer.from(BODY)],
  ['in chunks', { 'transfer-encoding': 'chunked' }, Buffer.from(BODY)],
  ['packed', { 'content-encoding': 'gzip' }, gzipSync(BODY)],
  ['"identity"', { 'content-encoding': 'identity' }, Buffer.from(BODY)],
  ['"identity" in chunks', { 'content-encoding': 'Identity', 'transfer-encoding': 'chunked' }, Buffer.from(BODY)],
  ['of no encoding', { 'content-encoding': '' }, Buffer.from(BODY)],
])('a body that was read has its own size of the memory: %s', async (_name, headers, body) => {
  expect(await send({ path: '/claimed', body, headers: { ...headers } })).toBe(BODY.length)
})

test('bytes behind a packed body are dropped, and the next request on its connection is served', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const body = Buffer.concat([gzipSync('{"a":1}'), Buffer.alloc(300_000)])
  expect(await send({ body, agent, headers: { 'content-encoding': 'gzip' } })).toEqual({ body: { a: 1 } })
  expect(await send({ body: '{"b":2}', agent })).toEqual({ body: { b: 2 } })
  agent.destroy()
})

test('a client that waits for `100 Continue` with too large a body gets the refusal at once', async () => {
  const sent = request({
    port,
    path: '/small',
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': 1_000_000, expect: '100-continue' },
  })
  sent.flushHeaders()
  const [received] = await once(sent, 'response')
  expect(JSON.parse(await text(received))).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
  sent.destroy()
})

test('a client of HTTP/1.0 gets no `100 Continue`: it gets the refusal when it has sent its whole body', async () => {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8')
  let received = ''
  socket.on('data', (piece: string) => (received += piece))
  const headers = 'content-type: application/json\r\nexpect: 100-continue\r\ncontent-length: 100000'
  socket.write(`POST /small HTTP/1.0\r\n${headers}\r\n\r\n${'x'.repeat(50_000)}`)
  await sleep(100)
  socket.write('x'.repeat(50_000))
  await once(socket, 'close')
  expect(received).toContain('PAYLOAD_TOO_LARGE')
})

test('a request that says that it has no body needs no type', async () => {
  expect(await send({ body: '', headers: { 'content-length': 0, 'content-type': '' } })).toEqual({ body: {} })
})

test('a client that leaves before its body is complete gets no response', async () => {
  const socket = connect(port, '127.0.0.1')
  socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{"a"')
  await new Promise((resolve) => setTimeout(resolve, 50))
  socket.end()
  expect(await text(socket)).not.toContain('200 OK')
})

/** Of a length, with as many values as fit. */
const bodyOf = (length: number) => `[${'1,'.repeat(length / 2 - 2)}1 ]`
const isReadByThread = (account: string, body: string) =>
  send({ path: '/tool', body, headers: { ...lengthOf(body), 'x-account': account } })

describe("a coding tool's request of 128 KB", () => {
  const [ofTool, longer] = [bodyOf(128 * 1024), bodyOf(128 * 1024 + 2)]

  test.each<[string, string, string, boolean]>([
    ['is read at once for an account that the edge has served', 'a', ofTool, false],
    ['goes to a thread where it is longer', 'a', longer, true],
    ['goes to a thread for a guest', 'device', ofTool, true],
    ['goes to a thread for an account that the edge does not know', 'stranger', ofTool, true],
  ])('%s', async (_name, account, body, expected) => {
    expect(await isReadByThread(account, body)).toBe(expected)
  })

  test('goes to a thread again where its account has used up its share. Its small ones do not', async () => {
    let requests = 0
    while ((await isReadByThread('team', ofTool)) === false) expect(++requests).toBeLessThan(5_000)
    expect(requests).toBeGreaterThan(0)
    expect(await isReadByThread('team', BODY)).toBe(false)
    expect(await isReadByThread('neighbour', ofTool)).toBe(false)
  })
})

test('large bodies of one account that come together are read one after another, within its share', async () => {
  const sinceMs = performance.now()
  const headers = { 'content-type': 'application/json', 'content-length': LARGEST_BODY_BYTES, 'x-account': 'crowd' }
  const MS_OF_A_BODY = LARGEST_BODY_BYTES * 2e-6
  let goneAhead = 0
  const outcomes = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const sent = request({ port, path: '/claimed', method: 'POST', headers: { ...headers, expect: '100-continue' } })
      sent.on('error', () => {}).flushHeaders()
      const goesAhead = once(sent, 'continue').then(() => {
        goneAhead++
        const mostMs = (performance.now() - sinceMs) * SHARE + MOMENT_MS + MS_OF_A_BODY
        expect(goneAhead * MS_OF_A_BODY).toBeLessThanOrEqual(mostMs)
        return 'goes ahead'
      })
      const refused = once(sent, 'response').then(async ([response]) => (await text(response)).slice(0, 29))
      return Promise.race([goesAhead, refused]).finally(() => sent.destroy())
    }),
  )
  expect(outcomes).toContain('goes ahead')
  for (const outcome of outcomes) expect(outcome).toBeOneOf(['goes ahead', '{"code":"rate_limit_exceeded"'])
})

test('a known account does not wait for the threads where strangers at its address have used up their share', async () => {
  const stranger = { headers: {}, socket: { remoteAddress: '127.0.0.1' } } as unknown as IncomingMessage
  const response = { locals: {}, on() {} } as unknown as StepResponse
  bytes.reserveRequest(stranger, response).cpu.chargeDropped(100_000_000)
  const random = (length: number) => randomBase62(length, randomBytes)
  const parts = { keyId: random(KEY_ID_LENGTH), accountTag: random(ACCOUNT_TAG_LENGTH) }
  const authorization = `Bearer ${formatKey({ ...parts, secret: random(KEY_SECRET_LENGTH) })}`
  expect(await send({ path: '/thread', body: BODY, headers: { ...lengthOf(BODY), authorization } })).toBe(false)
})
