/**
 * A strict stand-in for each vendor: its address, header names and authentication, the parameters that it refuses beyond
 * its description (`schemas.ts`), and its errors (`error-bodies.ts`). A parameter that the vendor ignores without a word
 * must not arrive: the router is at fault. Sources are those of `capabilities.ts`; the rest is assumed.
 */

import type { Vendor } from '@gateway/contracts/vendors'
import type { OutgoingHttpHeaders } from 'node:http'
import { sampleFromSchema } from '@gateway/stand-ins/json-sample'
import { goodChat, sendJson, openStream, type Answer, type SeenRequest } from '../http-backend.ts'
import { STRICT_SERVERS } from '../strict-servers.ts'
import { VENDOR_ERRORS, type VendorError } from './error-bodies.ts'
import { signatureFault, type Identity } from './signature-v4.ts'
import { COUNTED, STREAM_MANNERS, streamOf, TEXTS } from './stream-manners.ts'

export interface StandIn {
  /** The path of its address. */
  base: string
  /** The model of the cells. */
  model: string
  /** Null where the credential is good. */
  complaint(request: SeenRequest): string | null
  answer: Answer
  /** Taken without a word, and without effect. */
  ignores: string[]
}

export const KEY = 'a-key-that-only-the-vendor-and-the-router-know'
export const TOKEN = 'ya29.a-token-from-the-identity-server'
export const AWS_IDENTITY: Identity = {
  accessKeyId: 'ASIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  sessionToken: 'a-session-token+of/the-machine==',
}

/** The router's own, and the one that `@anthropic-ai/sdk` 1.12.0 sends, in November 2026. */
const ANTHROPIC_VERSIONS = ['2023-06-01', '2026-10-21']

type Complaint = StandIn['complaint']

/** Exactly this credential header, and none of the others. */
const onlyHeader =
  (name: string, value: string): Complaint =>
  ({ headers }) => {
    const others = ['authorization', 'api-key', 'x-api-key', 'x-goog-api-key'].filter((other) => other !== name)
    const wrong = others.find((other) => headers[other] !== undefined)
    if (wrong) return `the header ${wrong} does not belong here`
    return headers[name] === value ? null : `the header ${name} is wrong`
  }

const bearer = onlyHeader('authorization', `Bearer ${KEY}`)

const WORKING = {
  ignores: [],
  base: '/v1',
  complaint: bearer,
}

export const STAND_INS: Record<Vendor, StandIn> = {
  openai: {
    ...WORKING,
    model: 'gpt-5.4-mini',
    answer: mannered('openai', STRICT_SERVERS['openai']!.answer),
  },
  azure: {
    base: '/openai/v1',
    model: 'our-best',
    complaint: onlyHeader('api-key', KEY),
    answer: mannered('azure', STRICT_SERVERS['openai under a name of the operator']!.answer),
    ignores: [],
  },
  anthropic: {
    base: '/v1',
    model: 'claude-sonnet-4-6',
    complaint: (request) =>
      ANTHROPIC_VERSIONS.includes(String(request.headers['anthropic-version']))
        ? onlyHeader('x-api-key', KEY)(request)
        : 'anthropic-version: header is required',
    answer: respondMessages,
    ignores: [],
  },
  gemini: {
    ...WORKING,
    base: '/v1beta/openai',
    model: 'gemini-2.5-flash',
    answer: mannered('gemini', STRICT_SERVERS['gemini']!.answer),
  },
  vertex: {
    ...WORKING,
    base: '/v1/projects/our-project/locations/global/endpoints/openapi',
    model: 'google/gemini-2.5-flash',
    answer: mannered('vertex'),
    complaint: onlyHeader('authorization', `Bearer ${TOKEN}`),
  },
  bedrock: {
    ...WORKING,
    base: '/openai/v1',
    model: 'openai.gpt-oss-20b-1:0',
    answer: mannered('bedrock'),
    complaint: ({ path, headers, text }) =>
      signatureFault({ method: 'POST', path, headers, body: text }, AWS_IDENTITY, {
        region: 'us-west-2',
        service: 'bedrock',
      }),
  },
  openrouter: {
    ...WORKING,
    base: '/api/v1',
    model: 'openai/gpt-4o',
    answer: mannered('openrouter'),
  },
  vllm: { ...WORKING, model: 'Qwen/Qwen3-8B', answer: mannered('vllm') },
  sglang: { ...WORKING, model: 'Qwen/Qwen3-8B', answer: mannered('sglang') },
  'llama.cpp': {
    ...WORKING,
    model: 'qwen3-4b',
    answer: mannered('llama.cpp'),
    complaint: () => null,
  },
  ollama: {
    ...WORKING,
    model: 'qwen3:8b',
    answer: mannered('ollama'),
    complaint: () => null,
  },
  'lm-studio': {
    ...WORKING,
    model: 'qwen/qwen3-4b',
    answer: mannered('lm-studio'),
    complaint: () => null,
    ignores: ['max_completion_tokens'],
  },
}

/** What the vendor answers to another credential than the router's, which some of them repeat. */
export function refusalOf(vendor: Vendor): VendorError {
  const keys: Partial<Record<Vendor, string>> = { vertex: TOKEN, bedrock: AWS_IDENTITY.sessionToken! }
  const errors = VENDOR_ERRORS[vendor]({ key: keys[vendor] ?? KEY, model: STAND_INS[vendor].model })
  return errors['bad credential'] ?? { status: 401, body: { error: 'Unauthorized' }, source: 'assumed' }
}

/** What the judge takes is answered by the vendor's manners. */
function mannered(vendor: Vendor, judge: Answer = goodChat): Answer {
  return (response, request, socket) => {
    if (request.body['stream'] !== true) return judge(response, request, socket)
    const { writeHead, end } = response
    let isAccepted = false
    response.writeHead = ((status: number, headers: OutgoingHttpHeaders) => {
      isAccepted = status === 200
      return writeHead.call(response, status, headers)
    }) as typeof writeHead
    const events = streamOf(STREAM_MANNERS[vendor], 'stream_options' in request.body).join('')
    response.end = ((words: string) => end.call(response, isAccepted ? events : words, 'utf8')) as typeof end
    return judge(response, request, socket)
  }
}

type Block = { type: 'text'; text: string } | { type: 'tool_use'; id: string; name: string; input: unknown }

/** A sample of the asked schema, a call of the first tool that has no result yet, or a text. */
function respondMessages(response: Parameters<Answer>[0], { body }: SeenRequest): void {
  const block = blockFor(body as unknown as Messages)
  const stopReason = block.type === 'tool_use' ? 'tool_use' : 'end_turn'
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: body['model'], stop_sequence: null }
  const usage = { input_tokens: COUNTED.prompt_tokens, output_tokens: COUNTED.completion_tokens }
  if (body['stream'] !== true)
    return sendJson(response, 200, { ...message, content: [block], stop_reason: stopReason, usage })
  openStream(response)
  const write = (type: string, more: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
  const events = [
    write('message_start', { message: { ...message, content: [], stop_reason: null, usage } }),
    write('content_block_start', { index: 0, content_block: emptied(block) }),
    STREAM_MANNERS.anthropic.sign,
    ...deltasOf(block).map((delta) => write('content_block_delta', { index: 0, delta })),
    write('content_block_stop', { index: 0 }),
    write('message_delta', { delta: { stop_reason: stopReason, stop_sequence: null }, usage }),
    write('message_stop', {}),
  ]
  response.end(events.join(''))
}

interface Messages {
  messages: { content: string | { type: string }[] }[]
  tools?: { name: string; input_schema: object }[]
  output_config?: { format?: { schema: object } }
}

function blockFor({ messages, tools = [], output_config: output }: Messages): Block {
  const { content } = messages.at(-1)!
  const hasResult = Array.isArray(content) && content.some(({ type }) => type === 'tool_result')
  if (output?.format) return { type: 'text', text: JSON.stringify(sampleFromSchema(output.format.schema, 'Oslo')) }
  if (tools[0] === undefined || hasResult) return { type: 'text', text: TEXTS.join('') }
  const { name, input_schema: schema } = tools[0]
  return { type: 'tool_use', id: 'toolu_1', name, input: sampleFromSchema(schema, 'Oslo') }
}

function emptied(block: Block): Block {
  return block.type === 'text' ? { ...block, text: '' } : { ...block, input: {} }
}

function deltasOf(block: Block): object[] {
  if (block.type === 'tool_use') return [{ type: 'input_json_delta', partial_json: JSON.stringify(block.input) }]
  return (block.text.match(/.{1,4}/gs) ?? []).map((text) => ({ type: 'text_delta', text }))
}
