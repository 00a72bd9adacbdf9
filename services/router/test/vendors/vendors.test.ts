/**
 * Each vendor in front of its strict stand-in. The config is the vendor's example file, or its name alone where it has an
 * address of its own. Nothing is changed but the host of its address.
 */

import type { Vendor } from '@gateway/contracts/vendors'
import type { GatewayConfig } from '@gateway/contracts/config'
import type { JobHeader } from '@gateway/contracts/job'
import { loadConfig } from '@gateway/config/load-config'
import { existsSync, readFileSync } from 'node:fs'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { sendJson, type Reply, type HttpBackend } from '../http-backend.ts'
import type { FakeJob } from '../fake-job.ts'
import { backend, closing, router } from '../open.ts'
import { configOf } from '../router-under-test.ts'
import { VENDOR_TABLE } from './capabilities.ts'
import { CAPABILITIES, type Capability, type Cell } from './fixture.ts'
import { fileOf, vendors } from './fixtures.ts'
import { startIdentityServer } from './identity-servers.ts'
import { violationOf } from './schemas.ts'
import { AWS_IDENTITY, KEY, TOKEN } from './stand-in-credentials.ts'
import { refusalOf, STAND_INS } from './stand-ins.ts'

function example(vendor: Vendor): string {
  const file = new URL(`../../../../deploy/config/examples/${fileOf(vendor)}.yaml`, import.meta.url)
  return existsSync(file) ? readFileSync(file, 'utf8') : byNameAlone(vendor)
}

const byNameAlone = (vendor: Vendor) => `
backends:
  - { id: ${vendor}, vendor: ${vendor}, apiKey: "\${VENDOR_API_KEY}" }
pools:
  - { id: spark, targets: [{ backend: ${vendor}, model: a-model }] }
`

afterEach(() => vi.unstubAllEnvs())

/** Where the machine's identity comes from, for the vendors that need one. */
const IDENTITIES: Partial<Record<Vendor, () => Promise<void>>> = {
  async vertex() {
    const metadata = closing(
      await startIdentityServer(({ path }) => ({
        headers: { 'metadata-flavor': 'Google' },
        body: path.includes('/token')
          ? { access_token: TOKEN, expires_in: 3_599, token_type: 'Bearer' }
          : 'our-project',
      })),
    )
    vi.stubEnv('GCE_METADATA_HOST', metadata.url.slice('http://'.length))
    vi.stubEnv('METADATA_SERVER_DETECTION', 'assume-present')
  },
  async bedrock() {
    const { accessKeyId, secretAccessKey, sessionToken } = AWS_IDENTITY
    const container = closing(
      await startIdentityServer(() => ({
        body: {
          AccessKeyId: accessKeyId,
          SecretAccessKey: secretAccessKey,
          Token: sessionToken,
          Expiration: new Date(Date.now() + 3_600_000).toISOString(),
        },
      })),
    )
    vi.stubEnv('AWS_CONTAINER_CREDENTIALS_FULL_URI', container.url)
    vi.stubEnv('AWS_REGION', 'us-west-2')
  },
}

/** The example's own backends and pools, at the stand-in. */
function configAt(vendor: Vendor, url: string): GatewayConfig {
  const text = example(vendor).replaceAll(/\$\{\w+_URL\}/g, `http://replaced${STAND_INS[vendor].base}`)
  const { config } = loadConfig(text, vendor)
  const embeds = VENDOR_TABLE[vendor].but.embeddings === 'no' ? [] : ['embeddings']
  const backends = config.backends.map((one) => {
    const { pathname } = new URL(one.url)
    expect(one.vendor).toBe(vendor)
    expect(pathname.replace(/\/$/, '')).toBe(STAND_INS[vendor].base)
    return { ...one, url: new URL(pathname, url).href, capabilities: [...one.capabilities, 'vision', ...embeds] }
  })
  return configOf(backends, config.pools)
}

interface Under {
  seen: HttpBackend['seen']
  /** Sends to the pool `spark` as a client of the cells' model would. */
  sendRequest(header?: Partial<JobHeader>, body?: object): Promise<FakeJob>
}

async function open(vendor: Vendor, isGood = true): Promise<Under> {
  const standIn = STAND_INS[vendor]
  await IDENTITIES[vendor]?.()
  const strict: Reply = (response, request, socket) => {
    const complaint = isGood ? standIn.complaint(request) : 'refused'
    if (complaint !== null) {
      complaints.push(complaint)
      const { status, body } = refusalOf(vendor)
      return sendJson(response, status, body as object)
    }
    if (!request.path.startsWith(standIn.base)) return sendJson(response, 404, { error: 'Not Found' })
    ignored.push(...standIn.ignores.filter((name) => name in request.body))
    const violation = violationOf(vendor, request.path, request.body)
    if (violation !== null) {
      violations.push(violation)
      return sendJson(response, 400, { error: { message: violation } })
    }
    if (request.path.endsWith('/embeddings')) return sendJson(response, 200, embeddings())
    return standIn.reply(response, request, socket)
  }
  const complaints: string[] = []
  const ignored: string[] = []
  const violations: string[] = []
  const server = await backend(strict)
  const config = configAt(vendor, server.url)
  for (const { targets } of config.pools) for (const target of targets) target.model = standIn.model
  const environment = Object.fromEntries([...example(vendor).matchAll(/\$\{(\w+)\}/g)].map(([, name]) => [name!, KEY]))
  const under = await router(config, { ...process.env, ...environment })
  return {
    seen: server.seen,
    async sendRequest(header, body) {
      const job = await under.sendRequest({ pool: firstPool(config), remainingMs: 20_000, ...header }, body)
      if (isGood) expect(complaints).toEqual([])
      expect([...ignored, ...violations]).toEqual([])
      return job
    },
  }
}

const firstPool = ({ pools }: GatewayConfig) => pools[0]!.id
const embeddings = () => ({
  object: 'list',
  model: 'e',
  data: [{ object: 'embedding', index: 0, embedding: Array.from({ length: 768 }, () => 0.1) }],
  usage: { prompt_tokens: 1, total_tokens: 1 },
})

describe.each(vendors)('%s', (vendor) => {
  test('serves plain and streamed, with its own address, header and credential', async () => {
    const { sendRequest } = await open(vendor)
    for (const stream of [false, true]) {
      const { failure, end, text } = await sendRequest({ stream, includeUsage: stream })
      expect(failure).toBeNull()
      expect(text()).toContain('"usage":{')
      expect(end!.attempts).toHaveLength(1)
    }
  })

  test('a refused credential is the fault of the backend, and no client reads of it', async () => {
    const { sendRequest } = await open(vendor, false)
    const { failure } = await sendRequest()
    expect(failure).toMatchObject({ code: 'UPSTREAMS_EXHAUSTED' })
    const reported = JSON.stringify(failure)
    for (const secret of [KEY, TOKEN, ...Object.values(AWS_IDENTITY)]) expect(reported).not.toContain(secret)
  })

  test.for(CAPABILITIES)('%s', async (capability) => {
    const { but } = VENDOR_TABLE[vendor]
    expect(await cellOf(await open(vendor), capability)).toBe(but[capability] ?? 'as it is')
  })
})

const SAY = { role: 'user', content: 'Say hello' }
const PIXEL = 'data:image/png;base64,iVBORw0KGgo='
const SCHEMA = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false }
const TOOL = { type: 'function', function: { name: 'look', description: 'Looks', parameters: SCHEMA } }
const picture = (url: string) => ({
  messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
})

/** A client's body for each, and the member of it that the test follows. */
const PROBES: Record<Capability, { header?: Partial<JobHeader>; body: object; member: string }> = {
  chat: { body: {}, member: 'messages' },
  stream: { header: { stream: true }, body: {}, member: 'stream' },
  'usage in a stream': { header: { stream: true, includeUsage: true }, body: {}, member: 'stream_options' },
  max_tokens: { body: { max_tokens: 32 }, member: 'max_tokens' },
  max_completion_tokens: { body: { max_completion_tokens: 32 }, member: 'max_completion_tokens' },
  'role developer': { body: { messages: [{ role: 'developer', content: 'Be brief' }, SAY] }, member: 'messages' },
  temperature: { body: { temperature: 0.2 }, member: 'temperature' },
  stop: { body: { stop: ['END'] }, member: 'stop' },
  seed: { body: { seed: 7 }, member: 'seed' },
  presence_penalty: { body: { presence_penalty: 0.5 }, member: 'presence_penalty' },
  logprobs: { body: { logprobs: true }, member: 'logprobs' },
  logit_bias: { body: { logit_bias: { 50256: -100 } }, member: 'logit_bias' },
  n: { body: { n: 2 }, member: 'n' },
  tools: { body: { tools: [TOOL] }, member: 'tools' },
  tool_choice: { body: { tools: [TOOL], tool_choice: 'required' }, member: 'tool_choice' },
  user: { body: { user: 'someone' }, member: 'user' },
  parallel_tool_calls: { body: { tools: [TOOL], parallel_tool_calls: false }, member: 'parallel_tool_calls' },
  'response_format json_schema': {
    body: { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: SCHEMA, strict: true } } },
    member: 'response_format',
  },
  reasoning_effort: { body: { reasoning_effort: 'low' }, member: 'reasoning_effort' },
  'image in base64': { header: { needs: ['chat', 'vision'] }, body: picture(PIXEL), member: 'messages' },
  'image by URL': {
    header: { needs: ['chat', 'vision'] },
    body: picture('https://a.example/b.png'),
    member: 'messages',
  },
  embeddings: { header: { kind: 'embeddings', needs: ['embeddings'] }, body: { input: 'Hi' }, member: 'input' },
}

/** The fate of a capability, seen from both sides. */
async function cellOf({ sendRequest, seen }: Under, capability: Capability): Promise<Cell> {
  const { header, body, member } = PROBES[capability]
  const job = await sendRequest(header, { ...(capability === 'embeddings' ? {} : { messages: [SAY] }), ...body })
  if (job.failure?.code === 'BACKEND_REFUSED' && job.failure.backendStatus === undefined) return 'no'
  if (job.failure) {
    expect(job.failure).toMatchObject({ code: 'BACKEND_REFUSED', backendStatus: 400 })
    expect(job.failure.backendBody).toContain(member)
    return 'refused and said'
  }
  if (job.head!.droppedParams?.includes(member)) return 'dropped and said'
  expect(job.head!.droppedParams ?? []).toEqual([])
  if (capability === 'usage in a stream') expect(job.text()).toContain('"usage":{')
  const { path, body: sent } = seen.at(-1)!
  const requested = { messages: [SAY], stream: true, stream_options: { include_usage: true }, ...body } as Record<
    string,
    unknown
  >
  const isSame = JSON.stringify(sent[member]) === JSON.stringify(requested[member])
  // In another dialect only a member of its own is the same thing.
  const isTranslated = path.endsWith('/messages') && member !== 'temperature'
  return isSame && !isTranslated ? 'as it is' : 'translated'
}
