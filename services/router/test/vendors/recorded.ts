/**
 * Responses in the form of each vendor: `recorded/` holds their bytes, this table the source of the form and the meaning.
 * Members, order, chunks and counts are those that the source shows. The texts and ids in them are our own.
 */

import { readFileSync } from 'node:fs'
import type { Vendor } from '@gateway/contracts/vendors'

export interface Recorded {
  vendor: Vendor
  /** In `recorded/`: `.json` is a plain answer, `.sse` a stream. */
  file: string
  /** Who printed or recorded this form, and when. */
  source: string
  text?: string
  reasoning?: string
  calls?: { name: string; arguments: object }[]
  finishReason: string
  /** Null where the vendor counted nothing. */
  usage: { promptTokens: number; completionTokens: number; cachedTokens?: number; reasoningTokens?: number } | null
}

export const bytesOf = ({ file }: Recorded): string =>
  readFileSync(new URL(`recorded/${file}`, import.meta.url), 'utf8')

const PYDANTIC_AI = 'tests/models/cassettes of pydantic/pydantic-ai'
const LLAMA_STACK = "tests/integration of llamastack/llama-stack, as OpenAI's client read it"
const VERTEX = 'cloud.google.com/vertex-ai/generative-ai/docs/migrate/openai/examples'
const LLAMA_SERVER = 'tools/server of b11434 with Gemma 3, by this project'

export const RECORDED: Recorded[] = [
  {
    vendor: 'openai',
    file: 'openai.json',
    source: 'openapi.yaml of openai/openai-openapi, 2026-08-21',
    text: 'Good evening. The library opens at ten.',
    finishReason: 'stop',
    usage: { promptTokens: 19, completionTokens: 10 },
  },
  {
    vendor: 'openai',
    file: 'openai.sse',
    source: `${PYDANTIC_AI}, test_openai, 2026-07-22`,
    text: 'Oslo.',
    finishReason: 'stop',
    usage: { promptTokens: 13, completionTokens: 11 },
  },
  {
    vendor: 'azure',
    file: 'azure.json',
    source: `${PYDANTIC_AI}, test_azure, 2025-03-13`,
    text: 'Water boils at **100 °C**.',
    finishReason: 'stop',
    usage: { promptTokens: 14, completionTokens: 9 },
  },
  {
    vendor: 'azure',
    file: 'azure.sse',
    source: 'test_azure of traceloop/openllmetry, 2024-04-25',
    text: 'A short walk before the evening meal!',
    finishReason: 'stop',
    usage: null,
  },
  {
    vendor: 'anthropic',
    file: 'anthropic.json',
    source: `${PYDANTIC_AI}, test_anthropic, 2025-08-14`,
    text: 'Lisbon lies on the Tagus.',
    finishReason: 'stop',
    usage: { promptTokens: 20, completionTokens: 10 },
  },
  {
    vendor: 'anthropic',
    file: 'anthropic.sse',
    source: `${PYDANTIC_AI}, test_anthropic, 2026-03-02`,
    text: '7',
    finishReason: 'stop',
    usage: { promptTokens: 20, completionTokens: 5 },
  },
  {
    vendor: 'gemini',
    file: 'gemini.json',
    source: `${PYDANTIC_AI}, test_openai, 2025-06-02`,
    text: 'It is half past nine.',
    finishReason: 'stop',
    usage: { promptTokens: 66, completionTokens: 34, reasoningTokens: 28 },
  },
  {
    vendor: 'gemini',
    file: 'gemini-tool.json',
    source: `${PYDANTIC_AI}, test_openai, 2025-06-02`,
    calls: [{ name: 'read_clock', arguments: {} }],
    finishReason: 'tool_calls',
    usage: { promptTokens: 35, completionTokens: 74, reasoningTokens: 62 },
  },
  {
    vendor: 'gemini',
    file: 'gemini.sse',
    source: 'THU-MAIC/OpenMAIC#1556, 2026-09-16; its end by googleapis/python-genai#2868, 2026-08-17',
    calls: [
      {
        name: 'read',
        arguments: { offset: 1, limit: 100, path: '/srv/notes/chapter-three.md' },
      },
    ],
    finishReason: 'tool_calls',
    usage: null,
  },
  {
    vendor: 'vertex',
    file: 'vertex.json',
    source: `${VERTEX}, 2026-02-11`,
    finishReason: 'stop',
    usage: { promptTokens: 7, completionTokens: 1371, reasoningTokens: 251 },
  },
  {
    vendor: 'vertex',
    file: 'vertex.sse',
    source: `${VERTEX}, 2026-02-11`,
    calls: [
      { name: 'get_tide', arguments: { harbour: 'Brest, FR', unit: 'metre' } },
      { name: 'get_tide', arguments: { harbour: 'Cuxhaven, DE', unit: 'metre' } },
    ],
    finishReason: 'tool_calls',
    usage: { promptTokens: 27, completionTokens: 549, reasoningTokens: 504 },
  },
  {
    vendor: 'bedrock',
    file: 'bedrock.json',
    source: `${PYDANTIC_AI}, test_bedrock_mantle, 2026-07-24`,
    text: 'CALM',
    finishReason: 'stop',
    usage: { promptTokens: 72, completionTokens: 56 },
  },
  {
    vendor: 'bedrock',
    file: 'bedrock.sse',
    source: `${LLAMA_STACK}, 2026-04-17`,
    text: '<reasoning>A short greeting. I answer with one as short.</reasoning>Good morning! 🌞\n\nWhere shall we begin?',
    finishReason: 'stop',
    usage: null,
  },
  {
    vendor: 'openrouter',
    file: 'openrouter.json',
    source: `${PYDANTIC_AI}, test_openrouter, 2025-10-03`,
    text: "Three ways lead to the harbour: the tram, the river path and the old stairs—the stairs are steep. With a heavy bag I'd take the tram.\n\nShall I look for its stop?",
    finishReason: 'stop',
    usage: { promptTokens: 687, completionTokens: 240, cachedTokens: 682, reasoningTokens: 165 },
  },
  {
    vendor: 'openrouter',
    file: 'openrouter.sse',
    source: `${PYDANTIC_AI}, test_openrouter, 2025-12-08`,
    text: '3 + 6 = 9',
    reasoning: 'Two numbers are to be added. 3+6 gives 9.',
    finishReason: 'stop',
    usage: { promptTokens: 43, completionTokens: 36, reasoningTokens: 13 },
  },
  {
    vendor: 'vllm',
    file: 'vllm.json',
    source: 'test_chat of traceloop/openllmetry, 2024-11-20',
    text: 'A sundial keeps no secrets.\n\nIt shows "noon" to everyone, and sleeps when the clouds "close" the sky.',
    finishReason: 'stop',
    usage: { promptTokens: 43, completionTokens: 36 },
  },
  {
    vendor: 'vllm',
    file: 'vllm.sse',
    source: `${LLAMA_STACK}, 2025-11-06`,
    text: '<think>\n',
    calls: [{ name: 'get_forecast', arguments: { place: 'Alt Schwerin, MV' } }],
    finishReason: 'tool_calls',
    usage: null,
  },
  {
    vendor: 'sglang',
    file: 'sglang.json',
    source: 'a guide to SGLang on Ascend, 2025-09-29',
    text: 'Basalt is a volcanic rock.',
    finishReason: 'stop',
    usage: { promptTokens: 36, completionTokens: 8 },
  },
  {
    vendor: 'sglang',
    file: 'sglang.sse',
    source: 'the form of sgl-project/sglang#7860, 2025-07-08; its end assumed',
    text: 'The longest side is opposite the right angle.',
    finishReason: 'stop',
    usage: { promptTokens: 36, completionTokens: 8 },
  },
  {
    vendor: 'llama.cpp',
    file: 'llama-cpp.json',
    source: `${LLAMA_SERVER}, 2026-11-22`,
    text: '<|im_end|>',
    finishReason: 'length',
    usage: { promptTokens: 29, completionTokens: 6 },
  },
  {
    vendor: 'llama.cpp',
    file: 'llama-cpp.sse',
    source: `${LLAMA_SERVER}, 2026-11-22`,
    text: '<|im_end|>',
    finishReason: 'length',
    usage: { promptTokens: 29, completionTokens: 6, cachedTokens: 24 },
  },
  {
    vendor: 'ollama',
    file: 'ollama.json',
    source: `${PYDANTIC_AI}, test_ollama, 2026-04-16`,
    text: '{ "river": "Elbe", "sea": "North Sea" }',
    finishReason: 'stop',
    usage: { promptTokens: 136, completionTokens: 15 },
  },
  {
    vendor: 'ollama',
    file: 'ollama.sse',
    source: `${LLAMA_STACK}, 2025-11-07`,
    text: `{"name":"find_train","parameters':{'to':'Dresden'}}`,
    finishReason: 'stop',
    usage: { promptTokens: 176, completionTokens: 14 },
  },
  {
    vendor: 'lm-studio',
    file: 'lm-studio.json',
    source: 'lmstudio.ai/docs/developer/rest/endpoints, 2026-04-29',
    text: "A kettle sings, the window turns to grey,\nA neighbour's dog has chased the night away.\nThe first train hums along the river's bend,\nAnd rain begins where yesterday should end.",
    finishReason: 'stop',
    usage: { promptTokens: 24, completionTokens: 53 },
  },
  {
    vendor: 'lm-studio',
    file: 'lm-studio.sse',
    source: 'lmstudio-ai/lmstudio-js#320, 2025-05-21',
    text: '\n',
    finishReason: 'stop',
    usage: null,
  },
]
