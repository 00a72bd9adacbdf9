/**
 * A request to compact, as a Responses request for a summary. The conversation and its tools stay as they are, so that the
 * target's prompt cache serves them; the last message requests the summary. The model may call no tool.
 *
 * The client gets its user's newest messages back beside the summary, as the API has it.
 */

import { endsInTrigger } from '@gateway/contracts/responses'
import { type JsonObject, isObject, membersOf, objectsOf, wordOf } from '@gateway/contracts/json'
import { toolsOf } from '../responses-to-chat/function-names.ts'

export const PROMPT = `Stop here. Write a summary of the conversation above, for an assistant that goes on with the work and sees this summary in place of the conversation.

Keep all that the work still needs:
- the user's goals, instructions and preferences, word for word where the words matter
- decisions, with their reasons
- work that is done, with exact names: files, functions, commands, identifiers, addresses, numbers, errors
- attempts that failed, and why
- the present state, open questions, and the next steps in their order

A summary in the conversation is a part of it: carry over all that still holds. Leave out courtesies and repetitions. Call no tool, and act on none of the requests above. Write the summary alone, as plain text.`

/** `dropped`: members of the client's request that a summary cannot have. */
export function requestSummary(request: JsonObject): { request: JsonObject; dropped: string[] } {
  const { text, include, top_logprobs: logprobs, ...rest } = request
  const items = itemsOf(request)
  const input = [...items, { type: 'message', role: 'user', content: [{ type: 'input_text', text: PROMPT }] }]
  const tools = [...objectsOf(request.tools), ...undeclared(request, items)]
  const hasTools = toolsOf({ tools, input: items }).length > 0
  const written = { ...rest, input, ...(tools.length > 0 ? { tools } : {}), tool_choice: hasTools ? 'none' : null }
  return { request: written, dropped: [...ofText(text), ...ofInclude(include), ...(logprobs ? ['top_logprobs'] : [])] }
}

function ofText(text: unknown): string[] {
  const members = Object.entries(membersOf(text)).filter(([, value]) => value != null)
  return members.map(([name]) => `text.${name}`)
}

function ofInclude(include: unknown): string[] {
  return Array.isArray(include) ? include.map((name) => `include.${wordOf(name)}`) : []
}

/** The conversation without the trigger. */
function itemsOf({ input }: JsonObject): unknown[] {
  if (!Array.isArray(input)) return [{ type: 'message', role: 'user', content: input }]
  return endsInTrigger(input) ? input.slice(0, -1) : input
}

/**
 * The tools that the conversation calls and the request does not declare: the endpoint takes none. Some targets refuse calls of
 * an unknown tool (BerriAI/litellm's `modify_params`, 2024-11, for Anthropic and Bedrock).
 */
function undeclared(request: JsonObject, items: readonly unknown[]): JsonObject[] {
  const known = new Set(toolsOf(request).flatMap(keysOf))
  const tools: JsonObject[] = []
  for (const { type, name, namespace } of objectsOf(items)) {
    if (type !== 'function_call' && type !== 'custom_tool_call') continue
    const key = keyOf(namespace, name)
    if (known.has(key)) continue
    known.add(key)
    const tool = type === 'function_call' ? { type: 'function', name, parameters: ANY } : { type: 'custom', name }
    tools.push(isName(namespace) ? { type: 'namespace', name: namespace, tools: [tool] } : tool)
  }
  return tools
}

const ANY = { type: 'object', properties: {} }

function keysOf({ type, name, tools }: JsonObject): string[] {
  if (type !== 'namespace') return [keyOf(null, name)]
  return objectsOf(tools).map((tool) => keyOf(name, tool.name))
}

function keyOf(namespace: unknown, name: unknown): string {
  return JSON.stringify([isName(namespace) ? namespace : null, wordOf(name)])
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** Codex keeps as many tokens of messages, as OpenAI's endpoint does (openai/codex, `compact_remote_v2.rs`, 2026-06). */
const MOST_KEPT_TOKENS = 64_000
/** A rule of thumb, for a text of unknown language. */
const CHARACTERS_PER_TOKEN = 4
const TOKENS_PER_ATTACHMENT = 1_000

/** The user's messages, as many of the newest as fit. The summary alone covers the others. */
export function keptMessages(request: JsonObject): JsonObject[] {
  const kept: JsonObject[] = []
  let left = MOST_KEPT_TOKENS
  for (const item of itemsOf(request).toReversed()) {
    if (!isObject(item) || item.role !== 'user' || (item.type ?? 'message') !== 'message') continue
    const content = partsOf(item.content)
    const tokens = tokensOf(content)
    if (content.length === 0 || tokens > left) continue
    left -= tokens
    kept.push({ type: 'message', role: 'user', content })
  }
  return kept.toReversed()
}

function partsOf(content: unknown): JsonObject[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'input_text', text: content }]
  return objectsOf(content)
}

function tokensOf(parts: readonly JsonObject[]): number {
  return parts.reduce((sum, { text }) => {
    return sum + (typeof text === 'string' ? Math.ceil(text.length / CHARACTERS_PER_TOKEN) : TOKENS_PER_ATTACHMENT)
  }, 0)
}
