import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { errorShapes, type ErrorShape } from '@gateway/contracts/config'
import { listen } from './listen.ts'
import { refuseUnparsed, type UnparsedError } from './refuse-unparsed.ts'

let opened: AsyncDisposableStack
beforeEach(() => void (opened = new AsyncDisposableStack()))
afterEach(() => opened.disposeAsync())

async function open(errors: ErrorShape = 'auto'): Promise<URL> {
  const settings = { docsUrl: 'http://docs', topupUrl: 'http://topup' }
  const refuse = refuseUnparsed({ settings, config: { current: { errors } } })
  const serve = (_: unknown, response: { end(text: string): void }) => response.end('hello')
  const server = await listen(serve, { host: '127.0.0.1', port: 0 }, refuse)
  opened.defer(() => server.close())
  return new URL(server.url)
}

/** The head and the body of the response to these bytes. */
async function say(bytes: string, errors?: ErrorShape): Promise<{ head: string; body: unknown }> {
  const { port } = await open(errors)
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(bytes)
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n')
  return { head, body: JSON.parse(body) as unknown }
}

const MALFORMED = 'HTTP/1.1\r\nhost: gateway\r\nspaced name: x\r\n'

test('a request that is no HTTP is refused with the contract’s body and a request id', async () => {
  const { head, body } = await say(`GET /v1/models ${MALFORMED}\r\n`)
  expect(head).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
  expect(head).toMatch(/\r\nx-request-id: [0-9a-f-]{36}\r\n/)
  expect(head).toMatch(/\r\nconnection: close/)
  expect(body).toEqual({ error: expect.stringMatching(/HTTP/) as string, code: 'VALIDATION_ERROR' })
})

test('an SDK reads it nested, and so does everybody where the config says so', async () => {
  const nested = { error: { message: expect.any(String) as string, code: 'VALIDATION_ERROR', param: null } }
  expect((await say(`GET /v1/models ${MALFORMED}x-stainless-lang: go\r\n\r\n`)).body).toMatchObject(nested)
  expect((await say(`GET /v1/models ${MALFORMED}\r\n`, 'openai')).body).toMatchObject(nested)
})

test('a client of Messages reads it in its own shape', async () => {
  const { body } = await say(`POST /v1/messages ${MALFORMED}\r\n`)
  expect(body).toMatchObject({ type: 'error', error: { type: 'invalid_request_error', code: 'VALIDATION_ERROR' } })
})

test('headers that are too long are refused as that', async () => {
  const { head, body } = await say(`GET /v1/models HTTP/1.1\r\nhost: gateway\r\nx-long: ${'x'.repeat(40_000)}\r\n\r\n`)
  expect(head).toMatch(/^HTTP\/1\.1 431 /)
  expect(body).toMatchObject({ code: 'VALIDATION_ERROR', error: expect.stringMatching(/headers/) as string })
})

test('the edge writes nothing into a response that is on its way', async () => {
  const { port } = await open()
  const socket = connect(Number(port), '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nhost: gateway\r\n\r\nno http at all\r\n\r\n')
  const received = await text(socket)
  expect(received).toMatch(/hello/)
  expect(received.slice(received.indexOf('hello'))).toMatch(/^hello($|HTTP\/1\.1 400 )/)
})

test('a client that speaks HTTP/2 from its first byte reads a sentence that names HTTP/1.1', async () => {
  const session = connectHttp2((await open()).origin)
  session.on('error', () => {})
  const [errorCode, , said] = (await once(session, 'goaway')) as [number, number, Uint8Array]
  const HTTP_1_1_REQUIRED = 0x0d
  expect(errorCode).toBe(HTTP_1_1_REQUIRED)
  expect(Buffer.from(said).toString()).toMatch(/HTTP\/1\.1/)
  session.destroy()
})

/** The bytes of a refusal that a socket gets. */
function written(error: UnparsedError, errors: ErrorShape): string {
  const settings = { docsUrl: 'http://docs', topupUrl: 'http://topup' }
  let received = ''
  const socket = { writable: true, end: (bytes: string) => void (received = bytes), destroy() {} }
  refuseUnparsed({ settings, config: { current: { errors } } })(error, socket as unknown as Socket)
  return received
}

test('for all bytes that come, the edge sends one complete response with a sentence and a code', () => {
  const codes = fc.constantFrom('HPE_INVALID_METHOD', 'HPE_HEADER_OVERFLOW', 'ERR_HTTP_REQUEST_TIMEOUT', undefined)
  const lines = fc.array(
    fc.oneof(fc.string(), fc.constantFrom('x-stainless-lang: go', 'user-agent: ai/7', '__proto__: x', ':')),
  )
  const packet = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    lines.map((all) => Buffer.from(['POST /v1/messages HTTP/1.1', ...all].join('\r\n'))),
  )
  fc.assert(
    fc.property(
      codes,
      fc.option(packet, { nil: undefined }),
      fc.constantFrom(...errorShapes),
      (code, rawPacket, shape) => {
        const error = Object.assign(new Error('no'), { code, rawPacket }) as UnparsedError
        const [head = '', body = ''] = written(error, shape).split('\r\n\r\n')
        expect(head).toMatch(/^HTTP\/1\.1 (?:400|408|431) [A-Z]/)
        expect(head).toContain(`content-length: ${Buffer.byteLength(body)}\r\n`)
        const { error: reported, code: flat } = JSON.parse(body) as {
          error: string | { message: string; code: string }
          code?: string
        }
        expect(typeof reported === 'string' ? [reported, flat] : [reported.message, reported.code]).toEqual([
          expect.stringMatching(/./) as string,
          expect.stringMatching(/^(?:VALIDATION_ERROR|CLIENT_TIMEOUT)$/) as string,
        ])
      },
    ),
    { seed: 19, numRuns: 1_000 },
  )
})
