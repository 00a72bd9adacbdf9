/**
 * Claude Code in front of a backend that speaks the Messages API: its first requests, and the parts of its requests that
 * reach the backend. Nothing leaves the machine, since its proxy for https is not there. With a proxy it leaves out
 * `HEAD /api/hello`; where it reaches nobody and has none, it sends that first.
 */

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type HttpBackend,
  openStream,
  type SeenRequest,
  sendJson,
  startHttpBackend,
} from '../../services/router/test/http-backend.ts'
import { newDeveloper } from '../promises/gateway.ts'
import { startStandalone } from '../promises/standalone.ts'
import { recordRequests, type RecordedRequests } from './record-requests.ts'
import { type Ran, runTool, toolPath } from './workshop.ts'

const MODEL = 'claude-native'
const stack = new AsyncDisposableStack()
let backend: HttpBackend
let recorded: RecordedRequests
let key: string
let folder: string
/** The backend refuses a request that has it. */
let refusedFlag: string | null = null
/** An error that the backend gives this request; null where it serves it. */
let errorFor: (request: SeenRequest) => { status: number; type: string; message: string } | null = () => null

beforeAll(async () => {
  backend = stack.use(
    await startHttpBackend((response, request) => {
      const { path, headers } = request
      if (path.includes('count_tokens')) return sendJson(response, 200, { input_tokens: 12 })
      const error = (type: string, message: string) => ({ type: 'error', error: { type, message } })
      if (refusedFlag !== null && String(headers['anthropic-beta']).includes(refusedFlag)) {
        const message = `Unexpected value(s) \`${refusedFlag}\` for the \`anthropic-beta\` header.`
        return sendJson(response, 400, error('invalid_request_error', message))
      }
      const fault = errorFor(request)
      if (fault !== null) return sendJson(response, fault.status, error(fault.type, fault.message))
      openStream(response)
      return response.end(eventsOf('connected'))
    }),
  )
  const gateway = stack.use(await startStandalone({ config: configOver(backend.url) }))
  recorded = stack.use(await recordRequests(gateway.url))
  ;({ key } = await newDeveloper({ urls: [gateway.url], issuer: gateway.issuer }))
  folder = await mkdtemp(join(tmpdir(), 'claude-protocol-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
})
afterAll(() => stack.disposeAsync())

function configOver(url: string): object {
  return {
    backends: [
      { id: 'native', vendor: 'anthropic', url, apiKey: 'vendors-key', capabilities: ['chat', 'tools', 'vision'] },
    ],
    pools: [{ id: 'native', targets: [{ backend: 'native', model: 'claude-of-the-vendor' }] }],
    models: [
      { id: MODEL, name: 'Native', type: 'chat', pool: 'native', multiplier: 1, maxOutputTokens: 10_000 },
      { id: 'svc-other', type: 'chat', pool: 'native', multiplier: 1, aliases: ['anthropic-alias'], listed: true },
    ],
    plans: [
      { slug: 'guest-device', limit: 1e9, rpm: 1_000, tpm: 1e9, perDay: 1_000, guest: true },
      { slug: 'team', limit: 1e9, rpm: 10_000, tpm: 1e9, default: true },
    ],
  }
}

function eventsOf(text: string): string {
  const event = (type: string, members: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: MODEL, content: [], stop_reason: null }
  const usage = { input_tokens: 100, output_tokens: 1 }
  return [
    event('message_start', { message: { ...message, stop_sequence: null, usage } }),
    event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
    event('content_block_stop', { index: 0 }),
    event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 3 } }),
    event('message_stop', {}),
  ].join('')
}

/** Returns the folder that holds its own files. */
async function claude(credential: Record<string, string>): Promise<string> {
  const { home, code, out, err } = await runClaude(credential)
  if (code !== 0) throw new Error(`Claude Code ended with ${code}:\n${out}\n${err}`)
  expect(out.trim()).toBe('connected')
  return home
}

async function runClaude(environment: Record<string, string>): Promise<Ran & { home: string }> {
  const home = await mkdtemp(join(folder, 'home-'))
  const ran = await runTool(
    process.execPath,
    [toolPath('@anthropic-ai/claude-code/cli-wrapper.cjs'), '-p', 'Say connected'],
    {
      cwd: await mkdtemp(join(folder, 'work-')),
      env: {
        HOME: home,
        ANTHROPIC_BASE_URL: recorded.url,
        ANTHROPIC_MODEL: MODEL,
        ...environment,
        CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY: '1',
        DISABLE_AUTOUPDATER: '1',
        DISABLE_TELEMETRY: '1',
        DISABLE_ERROR_REPORTING: '1',
        HTTPS_PROXY: 'http://127.0.0.1:9',
        NO_PROXY: '127.0.0.1',
      },
    },
  )
  return { ...ran, home }
}

test.each(['ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_API_KEY'])(
  'Claude Code with its key in %s gets a response to each request of its start, and finds the models of its kind',
  async (variable) => {
    recorded.seen.length = 0
    const home = await claude({ [variable]: key })
    const failed = recorded.seen.filter(({ status }) => status !== 200).map(({ line, status }) => `${line} ${status}`)
    expect(failed).toEqual([])
    const lines = recorded.seen.map(({ line }) => line)
    expect(lines).toContain('GET /v1/models?limit=1000')
    expect(lines).toContain('POST /v1/messages?beta=true')
    const { models } = JSON.parse(await readFile(join(home, '.claude/cache/gateway-models.json'), 'utf8')) as {
      models: object[]
    }
    expect(models).toMatchObject([
      { id: MODEL, display_name: 'Native' },
      { id: 'anthropic-alias', display_name: 'anthropic-alias' },
    ])
  },
)

test('its requests reach the backend whole: each anthropic header as it was, and each member of the body', async () => {
  recorded.seen.length = backend.seen.length = 0
  await claude({ ANTHROPIC_AUTH_TOKEN: key })
  const sent = recorded.seen.filter(({ line }) => line.startsWith('POST /v1/messages?'))
  expect(sent).toHaveLength(backend.seen.length)
  for (const [index, { headers, body }] of sent.entries()) {
    const arrived = backend.seen[index]!
    const anthropic = Object.entries(headers).filter(([name]) => name.startsWith('anthropic-'))
    expect(anthropic.map(([name]) => name)).toEqual(expect.arrayContaining(['anthropic-version', 'anthropic-beta']))
    expect(arrived.headers).toMatchObject(Object.fromEntries(anthropic))
    const sentBody = JSON.parse(body) as { system: { text: string }[] }
    // The block that names the client is for Anthropic's own address alone.
    const system = sentBody.system.filter(({ text }) => !text.startsWith('x-anthropic-billing-header:'))
    expect(arrived.body).toEqual({ ...sentBody, system, model: 'claude-of-the-vendor' })
  }
})

test('a flag that the backend refuses stops nothing', async () => {
  const flags = String(backend.seen.at(-1)!.headers['anthropic-beta']).split(',')
  refusedFlag = flags[0]!
  backend.seen.length = 0
  await claude({ ANTHROPIC_AUTH_TOKEN: key })
  await claude({ ANTHROPIC_AUTH_TOKEN: key })
  const refusals = backend.seen.filter(({ headers }) => String(headers['anthropic-beta']).includes(refusedFlag!))
  expect(refusals).toHaveLength(1)
})

test('a response that would not fit is requested again with a lower cap, by the words of the backend', async () => {
  backend.seen.length = 0
  const capOf = ({ body }: SeenRequest) => Number(body['max_tokens'])
  errorFor = (request) => {
    const sum = `190000 + ${capOf(request)} > 200000`
    const message = `input length and \`max_tokens\` exceed context limit: ${sum}, decrease one of them`
    return capOf(request) > 10_000 ? { status: 400, type: 'invalid_request_error', message } : null
  }
  await claude({ ANTHROPIC_AUTH_TOKEN: key })
  const caps = backend.seen.filter(({ path }) => !path.includes('count')).map(capOf)
  expect(caps.length).toBeGreaterThan(1)
  expect(caps.at(-1)!).toBeLessThanOrEqual(10_000)
})

test('a backend that stays overloaded is named by its own status', async () => {
  errorFor = () => ({ status: 529, type: 'overloaded_error', message: 'Overloaded' })
  const { code, out } = await runClaude({ ANTHROPIC_AUTH_TOKEN: key, CLAUDE_CODE_MAX_RETRIES: '1' })
  expect(code).not.toBe(0)
  expect(out).toContain('529 Overloaded')
})
