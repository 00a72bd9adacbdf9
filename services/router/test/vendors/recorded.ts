/**
 * Exchanges that vendors' documents print, and that the tests of public projects have recorded in front of the real
 * vendors: `recorded/` holds the bytes of each answer, this table their sources and their meaning. Long ones are shortened
 * in the middle, and signatures to some letters.
 */

import { readFileSync } from 'node:fs'
import type { Vendor } from '@gateway/contracts/vendors'

export interface Recorded {
  vendor: Vendor
  /** In `recorded/`: `.json` is a plain answer, `.sse` a stream. */
  file: string
  /** Who printed or recorded it, and when. */
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
    text: 'Hello! How can I assist you today?',
    finishReason: 'stop',
    usage: { promptTokens: 19, completionTokens: 10 },
  },
  {
    vendor: 'openai',
    file: 'openai.sse',
    source: `${PYDANTIC_AI}, test_openai, 2026-07-22`,
    text: 'Paris.',
    finishReason: 'stop',
    usage: { promptTokens: 13, completionTokens: 11 },
  },
  {
    vendor: 'azure',
    file: 'azure.json',
    source: `${PYDANTIC_AI}, test_azure, 2025-03-13`,
    text: 'The capital of France is **Paris**.',
    finishReason: 'stop',
    usage: { promptTokens: 14, completionTokens: 9 },
  },
  {
    vendor: 'azure',
    file: 'azure.sse',
    source: 'test_azure of traceloop/openllmetry, 2024-04-25',
    text: 'Why did the Open-per-minute rate!',
    finishReason: 'stop',
    usage: null,
  },
  {
    vendor: 'anthropic',
    file: 'anthropic.json',
    source: `${PYDANTIC_AI}, test_anthropic, 2025-08-14`,
    text: 'The capital of France is Paris.',
    finishReason: 'stop',
    usage: { promptTokens: 20, completionTokens: 10 },
  },
  {
    vendor: 'anthropic',
    file: 'anthropic.sse',
    source: `${PYDANTIC_AI}, test_anthropic, 2026-03-02`,
    text: '2',
    finishReason: 'stop',
    usage: { promptTokens: 20, completionTokens: 5 },
  },
  {
    vendor: 'gemini',
    file: 'gemini.json',
    source: `${PYDANTIC_AI}, test_openai, 2025-06-02`,
    text: 'The current time is Noon.',
    finishReason: 'stop',
    usage: { promptTokens: 66, completionTokens: 34, reasoningTokens: 28 },
  },
  {
    vendor: 'gemini',
    file: 'gemini-tool.json',
    source: `${PYDANTIC_AI}, test_openai, 2025-06-02`,
    calls: [{ name: 'get_current_time', arguments: {} }],
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
        arguments: { offset: 1, limit: 100, path: '/app/skills/agent-runtime/stage-design/SKILL.md' },
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
      { name: 'get_current_weather', arguments: { location: 'Boston, MA', unit: 'celsius' } },
      { name: 'get_current_weather', arguments: { location: 'New Delhi, India', unit: 'celsius' } },
    ],
    finishReason: 'tool_calls',
    usage: { promptTokens: 27, completionTokens: 549, reasoningTokens: 504 },
  },
  {
    vendor: 'bedrock',
    file: 'bedrock.json',
    source: `${PYDANTIC_AI}, test_bedrock_mantle, 2026-07-24`,
    text: 'SAFE',
    finishReason: 'stop',
    usage: { promptTokens: 72, completionTokens: 56 },
  },
  {
    vendor: 'bedrock',
    file: 'bedrock.sse',
    source: `${LLAMA_STACK}, 2026-04-17`,
    text: '<reasoning>The user says "Hello, world!" Maybe a greeting. We need to respond politely. Possibly ask or do something? Keep it simple.</reasoning>Hello! 👋\n\nHow can I help you today?',
    finishReason: 'stop',
    usage: null,
  },
  {
    vendor: 'openrouter',
    file: 'openrouter.json',
    source: `${PYDANTIC_AI}, test_openrouter, 2025-10-03`,
    text: "I'm Grok, a helpful and maximally truthful AI built by xAI. I'm not based on any other companies' models—instead, I'm inspired by the Hitchhiker's Guide to the Galaxy and JARVIS from Iron Man. My goal is to assist with questions, provide information, and maybe crack a joke or two along the way.\n\nWhat can I help you with today?",
    finishReason: 'stop',
    usage: { promptTokens: 687, completionTokens: 240, cachedTokens: 682, reasoningTokens: 165 },
  },
  {
    vendor: 'openrouter',
    file: 'openrouter.sse',
    source: `${PYDANTIC_AI}, test_openrouter, 2025-12-08`,
    text: '2 + 2 = 4',
    reasoning: 'This is a simple arithmetic question. 2+2 equals 4.',
    finishReason: 'stop',
    usage: { promptTokens: 43, completionTokens: 36, reasoningTokens: 13 },
  },
  {
    vendor: 'vllm',
    file: 'vllm.json',
    source: 'test_chat of traceloop/openllmetry, 2024-11-20',
    text: 'Why did the OpenTelemetry metric go to therapy?\n\nBecause it was feeling a little "trapped" in its logging function, and wanted to "release" its stress.',
    finishReason: 'stop',
    usage: { promptTokens: 43, completionTokens: 36 },
  },
  {
    vendor: 'vllm',
    file: 'vllm.sse',
    source: `${LLAMA_STACK}, 2025-11-06`,
    text: '<think>\n',
    calls: [{ name: 'get_weather', arguments: { location: 'San Francisco, CA' } }],
    finishReason: 'tool_calls',
    usage: null,
  },
  {
    vendor: 'sglang',
    file: 'sglang.json',
    source: 'a guide to SGLang on Ascend, 2025-09-29',
    text: 'The capital of France is Paris.',
    finishReason: 'stop',
    usage: { promptTokens: 36, completionTokens: 8 },
  },
  {
    vendor: 'sglang',
    file: 'sglang.sse',
    source: 'the form of sgl-project/sglang#7860, 2025-07-08; its end assumed',
    text: 'The capital of China is Beijing.',
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
    text: '{ "city": "Paris", "country": "France" }',
    finishReason: 'stop',
    usage: { promptTokens: 136, completionTokens: 15 },
  },
  {
    vendor: 'ollama',
    file: 'ollama.sse',
    source: `${LLAMA_STACK}, 2025-11-07`,
    text: `{"name":"get_weather","parameters':{'city':'New York'}}`,
    finishReason: 'stop',
    usage: { promptTokens: 176, completionTokens: 14 },
  },
  {
    vendor: 'lm-studio',
    file: 'lm-studio.json',
    source: 'lmstudio.ai/docs/developer/rest/endpoints, 2026-04-29',
    text: "Greetings, I'm a helpful AI, here to assist,\nIn providing answers, with no distress.\nI'll keep it short and sweet, in rhyme you'll find,\nA friendly companion, all day long you'll bind.",
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
