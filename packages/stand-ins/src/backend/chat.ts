/**
 * The simulated backend's response to a chat request. It is a pure function of the request, so the same request always has the
 * same response and the same usage. `chat-wire.ts` writes it as JSON or as a stream.
 */

import type { ChatMessage, ChatRequest, ChatTool } from './chat-request.ts'
import { sampleFromSchema } from './json-sample.ts'
import { remember } from './seeded.ts'
import { countTokens, splitTokens } from './tokens.ts'

export interface ToolCall {
  name: string
  /** JSON text. */
  arguments: string
}

export interface Choice {
  reasoning: string[]
  content: string[]
  toolCalls: ToolCall[]
  finishReason: 'stop' | 'length' | 'tool_calls'
}

export interface ChatUsage {
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
  prompt_tokens_details: { cached_tokens: number }
  completion_tokens_details: { reasoning_tokens: number }
}

export interface ChatResponse {
  choices: Choice[]
  usage: ChatUsage
}

const TOKENS_PER_MESSAGE = 4
const TOKENS_PER_IMAGE = 85
const REASONING_TOKENS = 160
const MAX_WORDS = 200_000

export interface ChatOptions {
  /** The model thinks before it responds, unless the request says not to. */
  reasons: boolean
  /** The response's text instead of its own. */
  text?: string | undefined
  ignoresCap?: boolean | undefined
  /** The response's size at the least, made of large pieces. */
  sizeBytes?: number | undefined
}

/** Pieces of a huge response; one delta each. */
const FILLER = `${'0123456789abcdef'.repeat(1023)}0123456789abcde `
const FILLER_TOKENS = countTokens(FILLER)

export function buildChatResponse(request: ChatRequest, options: ChatOptions): ChatResponse {
  const choices = Array.from({ length: request.n }, (_, index) => buildChoice(request, index, options))
  const reasoningTokens = sum(choices, (choice) => choice.reasoning.length)
  const completionTokens =
    reasoningTokens + sum(choices, (choice) => contentTokens(choice) + sum(choice.toolCalls, callTokens))
  const { promptTokens, cachedTokens } = countPrompt(request)
  return {
    choices,
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
      prompt_tokens_details: { cached_tokens: cachedTokens },
      completion_tokens_details: { reasoning_tokens: reasoningTokens },
    },
  }
}

function buildChoice(request: ChatRequest, index: number, options: ChatOptions): Choice {
  if (options.sizeBytes !== undefined) {
    const content = Array.from({ length: Math.ceil(options.sizeBytes / FILLER.length) }, () => FILLER)
    return { reasoning: [], content, toolCalls: [], finishReason: 'stop' }
  }
  const budget = options.ignoresCap ? Infinity : (request.maxTokens ?? Infinity)
  const reasoning = options.reasons && request.thinking ? think(request) : []
  if (reasoning.length >= budget) {
    return { reasoning: reasoning.slice(0, budget), content: [], toolCalls: [], finishReason: 'length' }
  }
  const tools = chooseTools(request)
  if (tools.length > 0) {
    const text = lastText(request)
    const toolCalls = tools.map(({ name, parameters }) => {
      const schema = Object.keys(Object(parameters)).length > 0 ? parameters : { type: 'object' }
      return { name, arguments: JSON.stringify(sampleFromSchema(schema, text)) }
    })
    return { reasoning, content: [], toolCalls, finishReason: 'tool_calls' }
  }
  const complete = options.text ?? responseText(request)
  const text = cutAtStop(index === 0 ? complete : `${complete} (choice ${index + 1})`, request.stop)
  const content = splitResponse(text)
  const left = budget - reasoning.length
  return content.length > left
    ? { reasoning, content: content.slice(0, left), toolCalls: [], finishReason: 'length' }
    : { reasoning, content, toolCalls: [], finishReason: 'stop' }
}

/**
 * The response to `Say: hello` is `hello`, and the one to `… 300 words …` has as many words. A tool's result gets a sentence about
 * it. Every other response is a sentence that introduces the simulation and quotes the request.
 */
function responseText(request: ChatRequest): string {
  const prompt = lastText(request)
  if (request.jsonSchema !== undefined) return JSON.stringify(sampleFromSchema(request.jsonSchema, prompt))
  const last = request.messages.at(-1)!
  if (last.role === 'tool' || last.role === 'function') return `The tool answered: ${last.text.slice(0, 2_000)}`
  const said = /^\s*(?:say|repeat|echo)\s*:\s*(.+)$/isu.exec(prompt)?.[1]
  if (said !== undefined) return said
  const words = Number(/\b(\d{1,6}) words\b/i.exec(prompt)?.[1] ?? 0)
  if (words > 0) return wordsOf(Math.min(words, MAX_WORDS))
  const images = sum(request.messages, (message) => message.images)
  const seen = images > 0 ? ` It came with ${images} image${images > 1 ? 's' : ''}.` : ''
  return (
    `This is the simulated backend, answering as ${request.model}. You asked: "${shorten(prompt)}".${seen} ` +
    'Name a real backend in the configuration to get real answers; ask for "300 words" to see a longer one.'
  )
}

/** Loads send the same few requests over and over. */
const splitResponse = remember(64, splitTokens)
const wordsOf = remember(16, (count: number) =>
  Array.from({ length: count }, (_, index) => VOCABULARY[index % VOCABULARY.length]).join(' '),
)

function think(request: ChatRequest): string[] {
  const opening = splitTokens(`The user asks: "${shorten(lastText(request), 80)}". Let me think about it step by step.`)
  return [...opening, ...splitTokens(wordsOf(REASONING_TOKENS))].slice(0, REASONING_TOKENS)
}

/** The tools that the prompt calls for: those that share the most words with the last message of the user. */
function chooseTools(request: ChatRequest): ChatTool[] {
  const { tools, toolChoice } = request
  const last = request.messages.at(-1)!
  if (tools.length === 0 || toolChoice === 'none') return []
  if (typeof toolChoice === 'object') return tools.filter((tool) => tool.name === toolChoice.name).slice(0, 1)
  if (last.role !== 'user' && toolChoice === 'auto') return []
  const requested = new Set(wordsIn(last.text))
  const scored = tools.map((tool) => ({
    tool,
    score: wordsIn(`${tool.name} ${tool.description}`).filter((word) => requested.has(word)).length,
  }))
  const best = Math.max(...scored.map(({ score }) => score))
  if (best === 0) return toolChoice === 'required' ? tools.slice(0, 1) : []
  const chosen = scored.filter(({ score }) => score === best).map(({ tool }) => tool)
  return request.parallelToolCalls ? chosen : chosen.slice(0, 1)
}

function wordsIn(text: string): string[] {
  return text
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length >= 4 && !COMMON_WORDS.has(word))
}
const COMMON_WORDS = new Set([
  'what',
  'with',
  'from',
  'this',
  'that',
  'there',
  'please',
  'have',
  'your',
  'which',
  'given',
  'about',
  'tell',
  'when',
])

/** Everything up to the last response was a prompt before: a real server has it in its prefix cache. */
function countPrompt({ messages, tools }: ChatRequest): { promptTokens: number; cachedTokens: number } {
  const lastAssistant = messages.findLastIndex((message) => message.role === 'assistant')
  let promptTokens = 3 + sum(tools, (tool) => countTokens(tool.name) + countTokens(JSON.stringify(tool.parameters)))
  let cachedTokens = 0
  messages.forEach((message, index) => {
    promptTokens += messageTokens(message)
    if (index === lastAssistant) cachedTokens = promptTokens
  })
  return { promptTokens, cachedTokens }
}

function messageTokens({ text, images, calls }: ChatMessage): number {
  return TOKENS_PER_MESSAGE + countTokens(text) + images * TOKENS_PER_IMAGE + (calls === '' ? 0 : countTokens(calls))
}

function contentTokens({ content }: Choice): number {
  return content[0] === FILLER ? content.length * FILLER_TOKENS : content.length
}

function callTokens(call: ToolCall): number {
  return countTokens(call.name) + countTokens(call.arguments)
}

function lastText({ messages }: ChatRequest): string {
  return (messages.findLast((message) => message.role === 'user') ?? messages.at(-1)!).text
}

function cutAtStop(text: string, stops: string[]): string {
  const cuts = stops.map((stop) => text.indexOf(stop)).filter((at) => at >= 0)
  return cuts.length > 0 ? text.slice(0, Math.min(...cuts)) : text
}

const VOCABULARY =
  'the quick brown fox jumps over lazy dogs while seven grey wizards quietly mix potent ale by moonlight'.split(' ')

function shorten(text: string, length = 400): string {
  const characters = Array.from(text.trim().slice(0, length * 2 + 2))
  return characters.length > length ? `${characters.slice(0, length).join('')}…` : characters.join('')
}

function sum<T>(items: T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0)
}
