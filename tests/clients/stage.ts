/**
 * A gateway whose models fail each in one way, and the sentence that a person must read in each client.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { sendJson, startHttpBackend } from '../../services/router/test/http-backend.ts'
import { type GatewayWithoutStores, startGatewayWithoutStores } from '../ways-in/gateway-without-stores.ts'

/** A client requests the model of this name, and then shows the text. */
export const FAILURES = {
  'no-such-model': /The model no-such-model does not exist/,
  'not-for-chat': /model: not-for-chat serves embeddings, not chat/,
  'always-down': /All inference backends are unavailable/,
  'too-long': /maximum context length is 1000 tokens.*prompt is too long/s,
  filtered: /triggering the content management policy/,
} as const
export type Failure = keyof typeof FAILURES

/** A key that no gateway made. A client may request any model with it. */
export const BAD_KEY = 'svc_nonsense'
export const INVALID_KEY = /Invalid key/

const REFUSALS: Record<string, object> = {
  long: {
    message: "This model's maximum context length is 1000 tokens. However, your messages resulted in 1500 tokens.",
    type: 'invalid_request_error',
    param: 'messages',
    code: 'context_length_exceeded',
  },
  filtered: {
    message: 'The prompt was refused for triggering the content management policy.',
    type: null,
    param: 'prompt',
    code: 'content_filter',
  },
}

export interface Stage extends AsyncDisposable {
  gateway: GatewayWithoutStores
}

export async function openStage(): Promise<Stage> {
  await using opening = new AsyncDisposableStack()
  const backend = opening.use(
    await startHttpBackend((response, request) => {
      const { model } = request.body as { model: string }
      const error = REFUSALS[model]
      return error ? sendJson(response, 400, { error }) : sendJson(response, 500, { error: { message: 'broken' } })
    }),
  )
  const serve = (id: string, model: string) => ({ id, targets: [{ backend: 'one', model }] })
  const gateway = opening.use(
    await startGatewayWithoutStores({
      backends: [{ id: 'one', url: backend.url, capabilities: ['chat', 'embeddings'] }],
      pools: [serve('down', 'down'), serve('long', 'long'), serve('filtered', 'filtered')],
      models: [
        { id: 'always-down', type: 'chat', pool: 'down', multiplier: 1 },
        { id: 'not-for-chat', type: 'embeddings', pool: 'down' },
        { id: 'too-long', type: 'chat', pool: 'long', multiplier: 1 },
        { id: 'filtered', type: 'chat', pool: 'filtered', multiplier: 1 },
      ],
      plans: [
        { slug: 'guest-device', limit: 5_000, rpm: 60, tpm: 100_000, perDay: 100, guest: true },
        { slug: 'team', limit: 1e12, rpm: 1_000_000, tpm: 1e9, paid: true, default: true },
      ],
    }),
  )
  const opened = opening.move()
  return { gateway, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

/** Returns all that a client prints when it requests the model. */
export async function shownBy(
  command: readonly [string, ...string[]],
  { url, key }: Pick<GatewayWithoutStores, 'url' | 'key'>,
  model: string,
  environment: NodeJS.ProcessEnv = {},
): Promise<string> {
  const [program, ...words] = command
  const child = spawn(program, words, {
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      OPENAI_BASE_URL: `${url}/v1`,
      OPENAI_API_KEY: key,
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: key,
      MODEL: model,
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  child.stdout.on('data', (bytes: Buffer) => (said += String(bytes)))
  child.stderr.on('data', (bytes: Buffer) => (said += String(bytes)))
  await once(child, 'close')
  return said
}
