/**
 * A strict stand-in for each vendor: its address, header names and authentication, the parameters that it refuses beyond
 * its description (`schemas.ts`), and its errors (`error-bodies.ts`). What a vendor ignores without a word is a fault of the
 * router here: such a parameter must not arrive. Sources are those of `capabilities.ts`; the rest is assumed.
 */

import type { Vendor } from '@gateway/contracts/vendors'
import { goodChat, sendJson, openStream, type Answer, type SeenRequest } from '../http-backend.ts'
import { STRICT_SERVERS } from '../strict-servers.ts'
import { VENDOR_ERRORS, type VendorError } from './error-bodies.ts'
import { signatureFault, type Identity } from './signature-v4.ts'

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
  answer: goodChat,
  ignores: [],
  base: '/v1',
  complaint: bearer,
}

export const STAND_INS: Record<Vendor, StandIn> = {
  openai: {
    ...WORKING,
    model: 'gpt-5.4-mini',
    answer: STRICT_SERVERS['openai']!.answer,
  },
  azure: {
    base: '/openai/v1',
    model: 'our-best',
    complaint: onlyHeader('api-key', KEY),
    answer: STRICT_SERVERS['openai under a name of the operator']!.answer,
    ignores: [],
  },
  anthropic: {
    base: '/v1',
    model: 'claude-sonnet-4-6',
    complaint: (request) =>
      ANTHROPIC_VERSIONS.includes(String(request.headers['anthropic-version']))
        ? onlyHeader('x-api-key', KEY)(request)
        : 'anthropic-version: header is required',
    answer: answerMessages,
    ignores: [],
  },
  gemini: {
    ...WORKING,
    base: '/v1beta/openai',
    model: 'gemini-2.5-flash',
    answer: STRICT_SERVERS['gemini']!.answer,
  },
  vertex: {
    ...WORKING,
    base: '/v1/projects/our-project/locations/global/endpoints/openapi',
    model: 'google/gemini-2.5-flash',
    complaint: onlyHeader('authorization', `Bearer ${TOKEN}`),
  },
  bedrock: {
    ...WORKING,
    base: '/openai/v1',
    model: 'openai.gpt-oss-20b-1:0',
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
    // openrouter.ai/docs/api-reference/streaming, November 2026: comments before the first chunk.
    answer(response, request, socket) {
      if (request.body['stream'] !== true) return goodChat(response, request, socket)
      openStream(response)
      response.write(': OPENROUTER PROCESSING\n\n')
      return goodChat(withoutHead(response), request, socket)
    },
  },
  vllm: { ...WORKING, model: 'Qwen/Qwen3-8B' },
  sglang: { ...WORKING, model: 'Qwen/Qwen3-8B' },
  'llama.cpp': {
    ...WORKING,
    model: 'qwen3-4b',
    complaint: () => null,
  },
  ollama: {
    ...WORKING,
    model: 'qwen3:8b',
    complaint: () => null,
  },
  'lm-studio': { ...WORKING, model: 'qwen/qwen3-4b', complaint: () => null, ignores: ['max_completion_tokens'] },
}

/** What the vendor answers to another credential than the router's, which some of them repeat. */
export function refusalOf(vendor: Vendor): VendorError {
  const keys: Partial<Record<Vendor, string>> = { vertex: TOKEN, bedrock: AWS_IDENTITY.sessionToken! }
  const errors = VENDOR_ERRORS[vendor]({ key: keys[vendor] ?? KEY, model: STAND_INS[vendor].model })
  return errors['bad credential'] ?? { status: 401, body: { error: 'Unauthorized' }, source: 'assumed' }
}

/** The stream is open already. */
function withoutHead<Response extends Parameters<Answer>[0]>(response: Response): Response {
  response.writeHead = () => response
  return response
}

function answerMessages(response: Parameters<Answer>[0], { body }: SeenRequest): void {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: body['model'], stop_sequence: null }
  const usage = { input_tokens: 9, output_tokens: 3 }
  if (body['stream'] !== true) {
    const content = [{ type: 'text', text: 'Hello there' }]
    return sendJson(response, 200, { ...message, content, stop_reason: 'end_turn', usage })
  }
  openStream(response)
  const events: { type: string }[] = [
    { type: 'message_start', message: { ...message, content: [], stop_reason: null, usage } } as never,
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } } as never,
    { type: 'ping' },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello there' } } as never,
    { type: 'content_block_stop', index: 0 } as never,
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage } as never,
    { type: 'message_stop' },
  ]
  response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''))
}
