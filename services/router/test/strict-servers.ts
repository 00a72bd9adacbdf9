/**
 * Servers that refuse parameters, as vendors are known to: the status, the error body and its order of complaints. Each
 * rule names its source and its date. `assumed` stands where no source confirms a rule.
 */

import type { ServerResponse } from 'node:http'
import {
  completion,
  openStream,
  sendJson,
  completeStream,
  WORDS,
  chunk,
  ROLE,
  STOP,
  DONE,
  type Reply,
} from './http-backend.ts'

type Body = Record<string, unknown>

const SAMPLING = ['top_p', 'presence_penalty', 'frequency_penalty', 'logprobs', 'top_logprobs', 'logit_bias']

function good(response: ServerResponse, { stream, stream_options: options }: Body): void {
  if (stream !== true) return sendJson(response, 200, completion())
  openStream(response)
  const withoutUsage = ROLE + WORDS.map((word) => chunk({ content: word })).join('') + STOP + DONE
  response.end(options ? completeStream() : withoutUsage)
}

function openAiError(response: ServerResponse, param: string, message: string, code = 'unsupported_parameter'): void {
  sendJson(response, 400, { error: { message, type: 'invalid_request_error', param, code } })
}

const unsupported = (response: ServerResponse, param: string) =>
  openAiError(response, param, `Unsupported parameter: '${param}' is not supported with this model.`)

/**
 * OpenAI's reasoning models (`o1` and later, GPT-5 and later).
 *
 * - `max_tokens`: the body is of fish2018/YPrompt#26 (2025-12-22), koosoli/ESPHomeDesigner#379 (gpt-5.4, 2026-04-10). The
 *   types of `openai` 7.55 (2026) call it deprecated, and incompatible with the o-series.
 * - `temperature` but 1: gabrii/Cursor-Azure-GPT-5#33 (2025-09-15), johny-b/llmcomp#69 (gpt-5.4, 2026-04-20). o3-mini does
 *   not know it at all: BeehiveInnovations/pal-mcp-server#78 (2025-06-18). GPT-5.1 and later take it where
 *   `reasoning_effort` is `none`: vercel/ai#10932 (2025).
 * - `top_p`: HIllya51/LunaTranslator#1842 (2025-08-10). `presence_penalty`: nextai-translator#1781 (2025-08-08). The other
 *   penalty and the log probabilities: assumed to be alike.
 * - `logit_bias`: learn.microsoft.com/azure/ai-foundry/openai/how-to/reasoning, "Not supported", November 2026.
 * - `parallel_tool_calls`, o-series: evalstate/fast-agent#279 (2025-07-14).
 * - `stop`: the types of `openai` 7.55 for o3 and o4-mini; the body is of langgenius/dify#18971 (2025-04-28). GPT-5: assumed.
 * - The role `developer` at o1-mini and o1-preview: lobehub#5704 (2025-02-03).
 */
const openAi: Reply = (response, { body }) => {
  const model = String(body.model)
  const isOSeries = /^o\d/.test(model)
  const messages = body.messages as { role: string }[]
  const samples = /^gpt-5\.\d/.test(model) && body.reasoning_effort === 'none'
  if ('max_tokens' in body)
    return openAiError(
      response,
      'max_tokens',
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    )
  if (model === 'o3-mini' && 'temperature' in body) return unsupported(response, 'temperature')
  if (!samples && 'temperature' in body && body.temperature !== 1)
    return openAiError(
      response,
      'temperature',
      `Unsupported value: 'temperature' does not support ${String(body.temperature)} with this model. Only the default (1) value is supported.`,
      'unsupported_value',
    )
  const sampling = samples ? undefined : SAMPLING.find((name) => name in body)
  if (sampling) return unsupported(response, sampling)
  if (isOSeries && 'parallel_tool_calls' in body) return unsupported(response, 'parallel_tool_calls')
  if ('stop' in body) return unsupported(response, 'stop')
  const at = messages.findIndex(({ role }) => role === 'developer')
  if (/^o1-(?:mini|preview)/.test(model) && at >= 0)
    return openAiError(
      response,
      `messages[${at}].role`,
      `Unsupported value: 'messages[${at}].role' does not support 'developer' with this model.`,
      'unsupported_value',
    )
  return good(response, body)
}

/** The chat parameters of Mistral's published OpenAPI description, 2025; that `stream_options` is not among them is assumed. */
const MISTRAL = [
  ...[
    'model',
    'messages',
    'temperature',
    'top_p',
    'max_tokens',
    'stream',
    'stop',
    'random_seed',
    'response_format',
    'n',
  ],
  ...[
    'tools',
    'tool_choice',
    'presence_penalty',
    'frequency_penalty',
    'prediction',
    'parallel_tool_calls',
    'safe_prompt',
  ],
]
/** vLLM before 0.6.3 (2024-10): `max_tokens` only, and nothing that its model does not name (voideditor/void#128). */
const VLLM = [
  ...MISTRAL,
  'seed',
  'stream_options',
  'logprobs',
  'top_logprobs',
  'logit_bias',
  'user',
  'reasoning_effort',
]

const extraOf = (body: Body, known: string[]) => Object.keys(body).filter((name) => !known.includes(name))
const forbidden = (name: string, input: unknown) => ({
  type: 'extra_forbidden',
  loc: ['body', name],
  msg: 'Extra inputs are not permitted',
  input,
})

/** editor-code-assistant/eca#231 (2025-12-12). */
const mistral: Reply = (response, { body }) => {
  const detail = extraOf(body, MISTRAL).map((name) => forbidden(name, body[name]))
  if (detail.length === 0) return good(response, body)
  const error = { object: 'error', message: { detail }, type: 'invalid_request_error', param: null, code: null }
  return sendJson(response, 422, error)
}

/** mistralai/platform-docs-public#7 (2024-01-24): the same, as text. */
const mistralOld: Reply = (response, { body }) => {
  const detail = extraOf(body, MISTRAL).map((name) => forbidden(name, body[name]))
  if (detail.length === 0) return good(response, body)
  const message = JSON.stringify({ detail })
  return sendJson(response, 422, { object: 'error', message, type: 'internal_error_proxy', param: null, code: '1000' })
}

/** voideditor/void#128 (2024-10-28), 1Panel-dev/MaxKB#2912 (2025-04-17): Python's own way to write a list. */
const vllmOld: Reply = (response, { body }) => {
  const extra = extraOf(body, VLLM)
  if (extra.length === 0) return good(response, body)
  const errors = extra.map(
    (name) =>
      `{'type': 'extra_forbidden', 'loc': ('body', '${name}'), 'msg': 'Extra inputs are not permitted', 'input': ${String(body[name])}}`,
  )
  const message = `[${errors.join(', ')}]`
  return sendJson(response, 400, { object: 'error', message, type: 'BadRequestError', param: null, code: 400 })
}

/** openai/openai-python#1724 (2024-09-19), Azure/azure-sdk-for-net#45719 (2024-08-28). `stream_options`: assumed. */
const azureOld: Reply = (response, { body }) => {
  const names = ['max_completion_tokens', 'parallel_tool_calls', 'stream_options'].filter((name) => name in body)
  if (names.length === 0) return good(response, body)
  const message = `Unrecognized request argument${names.length > 1 ? 's' : ''} supplied: ${names.join(', ')}`
  return sendJson(response, 400, { error: { message, type: 'invalid_request_error', param: null, code: null } })
}

/** n4ze3m/page-assist#418 (2025-02-18), Vali-98/ChatterUI#227 (2025-02-14). */
const gemini: Reply = (response, { body }) => {
  const names = ['frequency_penalty', 'presence_penalty', 'seed'].filter((name) => name in body)
  if (names.length === 0) return good(response, body)
  const lines = names.map((name) => `Invalid JSON payload received. Unknown name "${name}": Cannot find field.`)
  const error = { code: 400, message: lines.join('\n'), status: 'INVALID_ARGUMENT' }
  return sendJson(response, 400, [{ error }])
}

/** yym68686/uni-api#105 (2025-04-24); since 2026 in other words: open-webui#21266 (2026-02-08). */
const xAi: Reply = (response, { body }) => {
  const code = 'Client specified an invalid argument'
  if ('presence_penalty' in body)
    return sendJson(response, 400, { code, error: 'Argument not supported on this model: presencePenalty' })
  if ('frequency_penalty' in body)
    return sendJson(response, 400, { code, error: 'Model grok-4-1-fast does not support parameter frequencyPenalty.' })
  return good(response, body)
}

/** Alibaba: haru/redmine_ai_helper#242 (2026-03-17). */
const qwen: Reply = (response, { body }) => {
  const at = (body.messages as { role: string }[]).findIndex(({ role }) => role === 'developer')
  if (at < 0) return good(response, body)
  const message = `developer is not one of ['system', 'assistant', 'user', 'tool', 'function'] - 'messages.['${at}].role'`
  return sendJson(response, 400, { error: { message, type: 'invalid_request_error', param: null, code: null } })
}

/** num-scope/pix#34 (2026-08-17). */
const deepseek: Reply = (response, { body }) => {
  const at = (body.messages as { role: string }[]).findIndex(({ role }) => role === 'developer')
  if (at < 0) return good(response, body)
  const message = `Failed to deserialize the JSON body into the target type: messages[${at}].role: unknown variant \`developer\`, expected one of \`system\`, \`user\`, \`assistant\`, \`tool\` at line 1 column 60`
  return sendJson(response, 400, {
    error: { message, type: 'invalid_request_error', param: null, code: 'invalid_request_error' },
  })
}

export interface StrictServer {
  reply: Reply
  /** Names under which it serves models. */
  models: string[]
  /** The contract's parameters that it cannot do, and that change no meaning. */
  drops(model: string): string[]
  /** The contract's parameters that it cannot do, and that a client must hear of. */
  refuses: string[]
  capName: 'max_tokens' | 'max_completion_tokens'
}

const ofOpenAi = (model: string) => ['temperature', ...SAMPLING, ...(/^o\d/.test(model) ? ['parallel_tool_calls'] : [])]
const MISTRAL_DROPS = ['logprobs', 'top_logprobs', 'logit_bias', 'seed']

export const STRICT_SERVERS: Record<string, StrictServer> = {
  openai: {
    reply: openAi,
    models: ['gpt-5', 'gpt-5.4-mini', 'o3-mini', 'o4-mini', 'o1-mini'],
    drops: ofOpenAi,
    refuses: ['stop'],
    capName: 'max_completion_tokens',
  },
  'openai under a name of the operator': {
    reply: (response, request, socket) =>
      openAi(response, { ...request, body: { ...request.body, model: 'gpt-5' } }, socket),
    models: ['our-best'],
    drops: () => ofOpenAi('gpt-5'),
    refuses: ['stop'],
    capName: 'max_completion_tokens',
  },
  mistral: {
    reply: mistral,
    models: ['mistral-large'],
    drops: () => MISTRAL_DROPS,
    refuses: [],
    capName: 'max_tokens',
  },
  'mistral of 2024': {
    reply: mistralOld,
    models: ['mistral-large'],
    drops: () => MISTRAL_DROPS,
    refuses: [],
    capName: 'max_tokens',
  },
  'vllm of 2024': { reply: vllmOld, models: ['qwen'], drops: () => [], refuses: [], capName: 'max_tokens' },
  'azure of 2024': {
    reply: azureOld,
    models: ['our-gpt-4o'],
    drops: () => ['parallel_tool_calls'],
    refuses: [],
    capName: 'max_tokens',
  },
  gemini: {
    reply: gemini,
    models: ['gemini-2.5-flash'],
    drops: () => ['presence_penalty', 'frequency_penalty', 'seed'],
    refuses: [],
    capName: 'max_tokens',
  },
  xai: {
    reply: xAi,
    models: ['grok-4'],
    drops: () => ['presence_penalty', 'frequency_penalty'],
    refuses: [],
    capName: 'max_tokens',
  },
  qwen: { reply: qwen, models: ['qwen3-max'], drops: () => [], refuses: [], capName: 'max_tokens' },
  deepseek: { reply: deepseek, models: ['deepseek-chat'], drops: () => [], refuses: [], capName: 'max_tokens' },
}
