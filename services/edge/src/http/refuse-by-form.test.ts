import { describe, expect, test } from 'vitest'
import { ambiguityOf, refuseReboundNames, type RequestForm } from './refuse-by-form.ts'
import type { Step, StepRequest, StepResponse } from './take-steps.ts'

const USUAL: RequestForm = {
  httpVersion: '1.1',
  url: '/v1/chat/completions',
  headers: { host: 'gateway.example' },
  rawHeaders: [
    'Host',
    'gateway.example',
    'Authorization',
    'Bearer x',
    'Content-Type',
    'application/json',
    'Accept',
    '*/*',
  ],
}

function encoded(transferEncoding: string): Partial<RequestForm> {
  return { headers: { ...USUAL.headers, 'transfer-encoding': transferEncoding } }
}

describe('a request has one reading', () => {
  test.each<[string, Partial<RequestForm>]>([
    ['as clients send it', {}],
    ['by HTTP/1.0', { httpVersion: '1.0' }],
    ['in chunks', encoded('chunked')],
    ['in CHUNKS', encoded('Chunked')],
    ['with headers that may be repeated', { rawHeaders: ['Via', 'a', 'Via', 'b', 'Cookie', 'a', 'Cookie', 'b'] }],
    ['with an absolute target of its host', { url: 'http://gateway.example/v1/models' }],
    ['of the whole server', { url: '*' }],
  ])('%s', (_, form) => {
    expect(ambiguityOf({ ...USUAL, ...form })).toBeNull()
  })
})

describe('a request is refused', () => {
  test.each<[string, Partial<RequestForm>, string]>([
    ['of another HTTP', { httpVersion: '0.9' }, 'HTTP/1.1'],
    ['in chunks that HTTP/1.0 does not know', { httpVersion: '1.0', ...encoded('chunked') }, 'HTTP/1.0'],
    ['whose body is encoded twice', encoded('identity, chunked'), 'chunked alone'],
    ['to another host than it names', { url: 'http://evil.example/v1/models' }, 'host:'],
    ['to a target that is no address', { url: 'evil.example:80' }, 'host:'],
    ...['Host', 'AUTHORIZATION', 'X-Api-Key', 'content-type', 'Content-Encoding', 'Idempotency-Key'].map(
      (name): [string, Partial<RequestForm>, string] => [
        `with two of ${name}`,
        { rawHeaders: [name, 'a', 'Accept', '*/*', name.toLowerCase(), 'a'] },
        `${name.toLowerCase()}: is given more than once`,
      ],
    ),
  ])('%s', (_, form, sentence) => {
    expect(ambiguityOf({ ...USUAL, ...form })).toContain(sentence)
  })
})

const LOCAL = { publicBaseUrl: 'http://127.0.0.1:8080', port: 8080, corsOrigins: ['https://app.example'] }
const PAGE = 'http://evil.example:8080'

/** True: the step lets a request with these headers go on. */
function passes([step]: Step[], headers: Record<string, string>): boolean {
  let passed = step === undefined
  try {
    void step?.({ headers } as Partial<StepRequest> as StepRequest, {} as StepResponse, () => void (passed = true))
  } catch (error) {
    expect(error).toMatchObject({ code: 'VALIDATION_ERROR', message: expect.stringContaining('PUBLIC_BASE_URL') })
  }
  return passed
}

test.each(['evil.example:8080', 'EVIL.example:8080', 'localhost.evil.example:8080', '127.0.0.1.nip.example:8080'])(
  'a page that has its own name, %s, lead to this machine may not call',
  (host) => expect(passes(refuseReboundNames(LOCAL), { host, origin: PAGE })).toBe(false),
)

test.each([
  ['the console', { host: '127.0.0.1:8080', origin: 'http://127.0.0.1:8080' }],
  ['a page at localhost', { host: 'localhost:8080', origin: 'http://localhost:8080' }],
  ['a page at a name below localhost', { host: 'gw.localhost:8080', origin: 'http://gw.localhost:8080' }],
  ['a page at IPv6', { host: '[::1]:8080', origin: 'http://[::1]:8080' }],
  ['a page at an address of the network', { host: '192.168.1.5:8080', origin: 'http://192.168.1.5:8080' }],
  ['a page of a configured origin', { host: 'gateway.lan:8080', origin: 'https://app.example' }],
  ['a page behind a proxy of this machine', { host: 'app.example', origin: 'https://app.example.com' }],
  ['curl by another name of this machine', { host: 'host.docker.internal:8080' }],
])('%s is no such page', (_who, headers) => expect(passes(refuseReboundNames(LOCAL), headers)).toBe(true))

test('a port of this machine that leads to a container’s counts, too', () => {
  const step = refuseReboundNames({ ...LOCAL, publicBaseUrl: 'http://localhost:9000' })
  expect(passes(step, { host: 'evil.example:9000', origin: 'http://evil.example:9000' })).toBe(false)
  expect(passes(step, { host: 'evil.example:8080', origin: PAGE })).toBe(false)
})

test.each([
  ['a public address', { publicBaseUrl: 'https://gateway.example' }],
  ['every origin allowed', { corsOrigins: ['*'] }],
])('with %s nobody is refused', (_why, settings) => {
  expect(passes(refuseReboundNames({ ...LOCAL, ...settings }), { host: 'evil.example:8080', origin: PAGE })).toBe(true)
})
