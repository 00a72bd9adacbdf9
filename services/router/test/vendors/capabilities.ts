/**
 * Vendors and capabilities: whether a client's parameter works in front of each vendor. `vendors.test.ts` asks every cell
 * of a strict stand-in, through the router, and finds a wrong one; the page about backends is written from this table.
 */

import type { Vendor } from '@gateway/contracts/vendors'

/** `as it is`: the vendor gets the parameter. `translated`: in the vendor's own form. `dropped and said`: `x-svc-dropped-params` names it. */
export type Cell = 'as it is' | 'translated' | 'dropped and said' | 'refused and said' | 'no'

export const CAPABILITIES = [
  'chat',
  'stream',
  'usage in a stream',
  'max_tokens',
  'max_completion_tokens',
  'role developer',
  'temperature',
  'stop',
  'seed',
  'presence_penalty',
  'logprobs',
  'logit_bias',
  'n',
  'tools',
  'tool_choice',
  'user',
  'parallel_tool_calls',
  'response_format json_schema',
  'reasoning_effort',
  'image in base64',
  'image by URL',
  'embeddings',
] as const
export type Capability = (typeof CAPABILITIES)[number]

export interface VendorRow {
  /** The model family that the cells are true of. */
  models: string
  /** The vendor's own words, and the day on which they were read. */
  sources: string[]
  /** All cells that are not `as it is`. */
  but: Partial<Record<Capability, Cell>>
  /** Cells that no source confirms. */
  assumed: readonly Capability[]
}

export const VENDOR_TABLE: Record<Vendor, VendorRow> = {
  openai: {
    models: 'gpt-5 and later, o-series',
    sources: ['the types of `openai` 7.55 (2026)', 'the rules of `test/strict-servers.ts`'],
    but: {
      max_tokens: 'translated',
      temperature: 'dropped and said',
      stop: 'refused and said',
      presence_penalty: 'dropped and said',
      logprobs: 'dropped and said',
      logit_bias: 'dropped and said',
    },
    assumed: [],
  },
  azure: {
    models: 'deployments of gpt-5 and later under their own names',
    sources: [
      'learn.microsoft.com/azure/ai-services/openai/reference, November 2026',
      'gabrii/Cursor-Azure-GPT-5#33, 2025-09-15',
    ],
    but: {
      max_tokens: 'translated',
      temperature: 'dropped and said',
      stop: 'refused and said',
      presence_penalty: 'dropped and said',
      logprobs: 'dropped and said',
      logit_bias: 'dropped and said',
    },
    assumed: ['role developer', 'seed'],
  },
  anthropic: {
    models: 'claude 4 and later',
    sources: ['docs.anthropic.com/en/api/messages, November 2026'],
    but: {
      stream: 'translated',
      'usage in a stream': 'translated',
      chat: 'translated',
      max_completion_tokens: 'translated',
      max_tokens: 'translated',
      'role developer': 'translated',
      stop: 'translated',
      seed: 'dropped and said',
      presence_penalty: 'dropped and said',
      logprobs: 'dropped and said',
      logit_bias: 'dropped and said',
      n: 'refused and said',
      tools: 'translated',
      tool_choice: 'translated',
      user: 'translated',
      parallel_tool_calls: 'translated',
      'response_format json_schema': 'translated',
      reasoning_effort: 'translated',
      'image in base64': 'translated',
      'image by URL': 'translated',
      embeddings: 'no',
    },
    assumed: [],
  },
  gemini: {
    models: 'gemini-2.5 and later',
    sources: ['ai.google.dev/gemini-api/docs/openai, 2026-06-19', 'n4ze3m/page-assist#418, 2025-02-18'],
    but: { seed: 'dropped and said', presence_penalty: 'dropped and said' },
    assumed: [
      ...(['role developer', 'logprobs', 'logit_bias', 'parallel_tool_calls', 'image by URL'] as const),
      'max_completion_tokens',
    ],
  },
  vertex: {
    models: 'google/gemini-2.5 and later',
    sources: ['cloud.google.com/vertex-ai/generative-ai/docs/migrate/openai/overview, 2026-09-17'],
    but: {
      logprobs: 'dropped and said',
      logit_bias: 'dropped and said',
      user: 'dropped and said',
      parallel_tool_calls: 'dropped and said',
    },
    assumed: ['role developer', 'embeddings'],
  },
  bedrock: {
    models: 'openai.gpt-oss',
    sources: ['docs.aws.amazon.com/bedrock/latest/userguide/inference-chat-completions.html, November 2026'],
    but: { embeddings: 'no' },
    assumed: [
      ...(['role developer', 'seed', 'logprobs', 'logit_bias', 'n', 'parallel_tool_calls'] as const),
      ...(['image in base64', 'image by URL'] as const),
    ],
  },
  openrouter: {
    models: 'all; OpenRouter drops what a model does not take',
    sources: ['openrouter.ai/docs/api-reference/parameters, November 2026'],
    but: { n: 'refused and said' },
    assumed: ['role developer', 'n', 'embeddings'],
  },
  vllm: {
    models: 'what the server was started with',
    sources: ['docs.vllm.ai/en/latest/serving/openai_compatible_server.html, November 2026'],
    but: {},
    assumed: [],
  },
  sglang: {
    models: 'what the server was started with',
    sources: ['docs.sglang.ai/basic_usage/openai_api_completions.html, November 2026'],
    but: {},
    assumed: ['role developer', 'parallel_tool_calls'],
  },
  'llama.cpp': {
    models: 'what the server was started with',
    sources: [
      'github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md, November 2026',
      'tools/server of b11434, 2026-11-22',
    ],
    but: { user: 'dropped and said' },
    assumed: ['role developer'],
  },
  ollama: {
    models: 'all',
    sources: ['docs.ollama.com/api/openai-compatibility, November 2026', 'ollama/ollama#7125, 2026-08-21'],
    but: {
      max_completion_tokens: 'translated',
      logit_bias: 'dropped and said',
      n: 'refused and said',
      tool_choice: 'dropped and said',
      user: 'dropped and said',
      parallel_tool_calls: 'dropped and said',
    },
    assumed: ['role developer', 'image by URL'],
  },
  'lm-studio': {
    models: 'all',
    sources: ['lmstudio.ai/docs/api/openai-api, November 2026'],
    but: { max_completion_tokens: 'translated' },
    assumed: [
      ...(['max_completion_tokens', 'role developer', 'n', 'parallel_tool_calls', 'reasoning_effort'] as const),
      'image by URL',
    ],
  },
}
