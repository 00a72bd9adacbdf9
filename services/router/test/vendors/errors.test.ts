/**
 * Each vendor's errors in its own words: the router goes to another target, or gives the client the reason why it cannot be
 * served. A client never reads a credential, the name of a backend's account or its address.
 */

import { clientDialects, VENDORS, type Vendor } from '@gateway/contracts/vendors'
import { createLogger } from '@gateway/telemetry/logger'
import { describe, expect, test } from 'vitest'
import { BackendFault, attributeFailure, classifyFault } from '../../src/core/backend-fault.ts'
import { meaningsOf } from '../../src/vendors/meanings.ts'
import { plain } from '../../src/vendors/plain.ts'
import { goodChat, sendJson } from '../http-backend.ts'
import { backend, router } from '../open.ts'
import { poolOver } from '../router-under-test.ts'
import { HANDLING, VENDOR_ERRORS } from './error-bodies.ts'
import { ERROR_CASES, type ErrorCase, type VendorError } from './fixture.ts'
import { FIXTURES } from './fixtures.ts'

const KEY = 'sk-proj-a-key-of-the-backend-1234'
/** Of an account of ours, in the bodies. */
const SECRETS = [KEY, 'org-Ab12Cd34Ef56', 'our-project']
const MODEL = 'a-model'
const CHAT = { messages: [{ role: 'user', content: 'Say hello' }] }

const vendors = Object.keys(VENDORS) as Vendor[]
const errorsOf = (vendor: Vendor) => VENDOR_ERRORS[vendor]({ key: KEY, model: MODEL })
const cases = vendors.flatMap((vendor) =>
  ERROR_CASES.flatMap((name) => {
    const error = errorsOf(vendor)[name]
    return error ? [{ vendor, name, error }] : []
  }),
)

/** A target of the vendor that returns the error, and as many others of plain servers that would serve. */
async function open(vendor: Vendor, { status, headers = {}, body }: VendorError, others: number) {
  const warnings: string[] = []
  const write = (text: string) => void warnings.push((JSON.parse(text) as { msg: string }).msg)
  const logger = createLogger({ service: 'router', level: 'warn', output: { write } })
  const failing = await backend((response) => sendJson(response, status, body as object, headers))
  const good = await Promise.all(Array.from({ length: others }, () => backend(goodChat)))
  const config = poolOver([failing.url, ...good.map(({ url }) => url)], {
    backends: [{ vendor, apiKey: KEY }],
    targets: [{ model: MODEL, contextWindow: 4_096 }],
  })
  return { failing, warnings, under: await router(config, {}, { logger }) }
}

const isRefused = (name: ErrorCase) => HANDLING[name].endsWith('refused and said')

describe('alone', () => {
  test.for(cases)('$vendor, $name: the client is informed, without a secret', async ({ vendor, name, error }) => {
    const { under } = await open(vendor, error, 0)
    const { failure } = await under.sendRequest({}, CHAT)
    const reported = JSON.stringify(failure)
    for (const secret of SECRETS) expect(reported).not.toContain(secret)
    if (isRefused(name)) {
      expect(failure).toMatchObject({ code: 'BACKEND_REFUSED', backendStatus: reportedStatus(error, name) })
      expect(failure!.backendBody).toContain(sentenceOf(error.body).slice(0, 20))
    } else {
      expect(failure).toMatchObject({ code: 'UPSTREAMS_EXHAUSTED', attempted: ['a'] })
      expect(failure!.backendBody).toBeUndefined()
    }
  })
})

/** The phrases by which clients recognise an error, and the codes: LangChain, LiteLLM and Claude Code, November 2026. */
const KNOWN: Partial<Record<ErrorCase, { code: RegExp; phrase: RegExp }>> = {
  'prompt too long': { code: /^context_length_exceeded$/, phrase: /prompt is too long/ },
  'content filter': {
    code: /^(?:content_filter|content_policy_violation|invalid_prompt)$/,
    phrase: /rejected as a result of the safety system|violating our usage policy|filtering policy/,
  },
}

describe.each(clientDialects)('a client of %s', (dialect) => {
  test.for(cases.filter(({ name }) => isRefused(name)))(
    '$vendor, $name: reads the vendor’s words, and a code and a phrase that it knows',
    async ({ vendor, name, error }) => {
      const { under } = await open(vendor, error, 0)
      const requested = dialect === 'responses' ? { input: 'Say hello' } : { ...CHAT, max_tokens: 100 }
      const { failure } = await under.sendRequest({ dialect }, requested)
      const { code, phrase } = KNOWN[name]!
      const type = expect.stringMatching(/./) as string
      expect(failure!.refusal).toMatchObject({ code: expect.stringMatching(code) as string, type })
      expect(failure!.refusal!.message).toMatch(phrase)
      expect(failure!.refusal!.message).toContain(sentenceOf(error.body).slice(0, 20))
    },
  )

  test.for(cases.filter(({ name }) => name === 'prompt too long' && dialect === 'messages'))(
    '$vendor: Claude Code reads by how much the prompt is too long',
    async ({ vendor, error }) => {
      const { under } = await open(vendor, error, 0)
      const { failure } = await under.sendRequest({ dialect }, { ...CHAT, max_tokens: 100 })
      const numbers = FIXTURES[vendor].tooLong
      const reported = numbers
        ? `prompt is too long: ${numbers[0]} tokens > ${numbers[1]} maximum`
        : /^prompt is too long: /
      expect(failure!.refusal!.message).toMatch(reported)
    },
  )
})

describe('beside another target', () => {
  test.for(cases)('$vendor, $name: the other one serves', async ({ vendor, name, error }) => {
    const { under } = await open(vendor, error, 1)
    const { failure, end } = await under.sendRequest({}, CHAT)
    expect(failure).toBeNull()
    expect(end!.attempts.map(({ outcome }) => outcome)).toEqual([`http_${reportedStatus(error, name)}`, 'served'])
  })
})

describe('the next request', () => {
  const avoided: ErrorCase[] = ['bad credential', 'no such model', 'rate limit']
  const lasting = cases.filter(({ name }) => avoided.includes(name))

  test.for(lasting)('$vendor, $name: does not go there', async ({ vendor, error }) => {
    const { under, failing } = await open(vendor, error, 1)
    for (let i = 0; i < 2; i++) expect((await under.sendRequest({}, CHAT)).failure).toBeNull()
    expect(failing.seen).toHaveLength(1)
  })

  const unpaid = cases.filter(({ name }) => name === 'unpaid or out of quota')
  test.for(unpaid)(
    '$vendor, unpaid: goes there three times and no more, and never waits',
    async ({ vendor, error }) => {
      const { under, failing } = await open(vendor, error, 1)
      for (let i = 0; i < 5; i++) expect((await under.sendRequest({}, CHAT)).failure).toBeNull()
      expect(failing.seen.length).toBeLessThanOrEqual(3)
    },
  )

  test.for(cases.filter(({ name }) => isRefused(name)))(
    '$vendor, $name: goes there, since the target is well',
    async ({ vendor, error }) => {
      const { under, failing } = await open(vendor, error, 0)
      for (let i = 0; i < 4; i++) await under.sendRequest({}, CHAT)
      expect(failing.seen).toHaveLength(4)
    },
  )
})

describe('an operator', () => {
  const ADVICE: Partial<Record<ErrorCase, string>> = {
    'bad credential': "a backend refuses the router's credential: replace its apiKey",
    'no such model': "a backend does not have the model of a target: mend the target's model, or the backend's url",
    'unpaid or out of quota': 'a backend serves nothing until its account is paid, or its limit is raised',
  }

  test.for(cases)('$vendor, $name: reads the next step once, if there is one', async ({ vendor, name, error }) => {
    const { under, warnings } = await open(vendor, error, 0)
    for (let i = 0; i < 3; i++) await under.sendRequest({}, CHAT)
    expect(warnings).toEqual(ADVICE[name] ? [ADVICE[name]] : [])
  })
})

test.for(cases.filter(({ name }) => name === 'prompt too long'))(
  '$vendor, $name: a larger target of the same vendor serves',
  async ({ vendor, error }) => {
    const small = await backend((response) => sendJson(response, error.status, error.body as object))
    const larger = await backend((response, request, socket) =>
      vendor === 'anthropic' ? sendJson(response, 200, MESSAGE) : goodChat(response, request, socket),
    )
    const under = await router(
      poolOver([small.url, larger.url], {
        backend: { vendor, apiKey: KEY },
        targets: [{ contextWindow: 4_096 }, { contextWindow: 128_000 }],
      }),
    )
    const { failure, end } = await under.sendRequest({}, CHAT)
    expect(failure).toBeNull()
    expect(end!.attempts).toHaveLength(2)
  },
)

describe("a vendor's words that the client wrote itself", () => {
  const WORDS = ['insufficient_quota', 'The provided model identifier is invalid.', 'gpt is not a valid model ID']

  test.each(WORDS)('take no target from the others: %s', (words) => {
    const body = JSON.stringify({ error: { message: words, type: words, code: words } })
    const attributeAfter = (requested: string, status: number) =>
      attributeFailure(
        classifyFault(new BackendFault('status', '', { status, body }), {
          clientRequest: Buffer.from(requested),
          secrets: [],
          meanings: meaningsOf(plain).errors,
        }),
      )
    expect(attributeAfter('{"messages":[]}', 400).on).not.toBe('nobody')
    expect(attributeAfter(JSON.stringify({ messages: [words] }), 400).on).toBe('nobody')
    expect(attributeAfter(JSON.stringify({ messages: [words] }), 429)).toEqual(attributeFailure(RATE_LIMIT))
  })
  const RATE_LIMIT = new BackendFault('status', '', { status: 429 })
})

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content: [{ type: 'text', text: 'Hello there' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 9, output_tokens: 3 },
}

/** A moderation's 403 counts as the 400 of other vendors. */
function reportedStatus({ status }: VendorError, name: ErrorCase): number {
  return status === 403 && name === 'content filter' ? 400 : status
}

function sentenceOf(body: unknown): string {
  const said = (Array.isArray(body) ? body[0] : body) as { error?: { message?: string } | string; message?: string }
  return typeof said.error === 'string' ? said.error : (said.error?.message ?? said.message ?? '')
}
