/**
 * Tools that a vendor runs, searches and files for, and bills beside the tokens. A request orders them by entries of
 * `tools` whose type is the vendor's.
 *
 * Invariant: an entry is the client's own only if its type is on the list of its API. A type that nobody here knows is a
 * hosted tool without a name, and no model may be configured to run it.
 */

import { isObject, type JsonObject, membersOf, objectsOf } from './json.ts'
import type { ClientDialect } from './vendors.ts'

/** The names in the config file, in prices and in the ledger. */
export const hostedTools = [
  'web_search',
  'web_fetch',
  'file_search',
  'code_interpreter',
  'image_generation',
  'mcp',
] as const
export type HostedTool = (typeof hostedTools)[number]

/** The most calls of one request where the config names no other number. Each one may fill the context window again. */
export const USUAL_MOST_TOOL_CALLS = 10

/** An entry of `tools` that the vendor runs. `name` is undefined where no model may be configured to run it. */
export interface HostedEntry {
  type: string
  name: HostedTool | undefined
}

/** Null: the client runs the tool itself, or the entry is a plain function. */
export function hostedEntryOf(dialect: ClientDialect, tool: unknown): HostedEntry | null {
  if (!isObject(tool) || tool.type == null) return null
  const { type } = tool
  if (typeof type !== 'string') return { type: '', name: undefined }
  return isRunByClient(dialect, type, tool)
    ? null
    : { type, name: NAMES[dialect].get(type) ?? versioned(dialect, type) }
}

/** By the types of `openai` 7.55 and `@anthropic-ai/sdk` 1.12 (2026): their clients execute these. */
const RUN_BY_CLIENT: Record<ClientDialect, ReadonlySet<string>> = {
  chat: new Set(['function', 'custom']),
  responses: new Set([
    ...['function', 'custom', 'local_shell', 'apply_patch'],
    ...['computer', 'computer_use', 'computer_use_preview'],
  ]),
  messages: new Set(['custom']),
}
/** Anthropic writes the version behind the name: `bash_20250124`. */
const VERSIONED_OF_CLIENT = /^(?:bash|text_editor|computer|computer_toolset|browser_toolset|memory)_\d{8}$/

function isRunByClient(dialect: ClientDialect, type: string, tool: JsonObject): boolean {
  if (type === 'namespace') return objectsOf(tool.tools).every((inner) => hostedEntryOf(dialect, inner) === null)
  if (RUN_BY_CLIENT[dialect].has(type)) return true
  if (dialect === 'messages') return VERSIONED_OF_CLIENT.test(type)
  if (dialect !== 'responses') return false
  // Without an environment of its own, a shell is the client's.
  if (type === 'shell') return tool.environment == null || membersOf(tool.environment).type === 'local'
  return type === 'tool_search' && tool.execution === 'client'
}

const NAMES: Record<ClientDialect, ReadonlyMap<string, HostedTool>> = {
  chat: new Map(),
  responses: new Map([
    ['web_search', 'web_search'],
    ['web_search_2025_08_26', 'web_search'],
    ['web_search_preview', 'web_search'],
    ['web_search_preview_2025_03_11', 'web_search'],
    ['file_search', 'file_search'],
    ['code_interpreter', 'code_interpreter'],
    ['image_generation', 'image_generation'],
    ['mcp', 'mcp'],
  ]),
  messages: new Map(),
}
const VERSIONED: readonly [RegExp, HostedTool][] = [
  [/^web_search_\d{8}$/, 'web_search'],
  [/^web_fetch_\d{8}$/, 'web_fetch'],
]

function versioned(dialect: ClientDialect, type: string): HostedTool | undefined {
  return dialect === 'messages' ? VERSIONED.find(([form]) => form.test(type))?.[1] : undefined
}

/**
 * Members by which chat requests and Messages requests order a hosted tool, or settings that order one. They are the
 * search of OpenAI, Perplexity, xAI and Alibaba, OpenRouter's plugins and presets, and Anthropic's MCP connector and
 * containers. No target's limit bounds the calls that they lead to, so none of them leaves.
 */
export const HOSTED_MEMBERS: Record<ClientDialect, readonly string[]> = {
  chat: [
    ...['web_search_options', 'search_parameters', 'enable_search', 'search_options', 'web_search'],
    ...['plugins', 'preset'],
  ],
  responses: ['plugins', 'preset', 'search_parameters'],
  messages: ['mcp_servers', 'container'],
}

/** Returns true when the request may have a vendor run a tool. */
export function asksHostedTools(dialect: ClientDialect, request: JsonObject): boolean {
  if (HOSTED_MEMBERS[dialect].some((name) => request[name] != null)) return true
  if (isTemplate(dialect, request)) return true
  const isHosted = (tool: unknown) => hostedEntryOf(dialect, tool) !== null
  return objectsOf(request.tools).some(isHosted) || addedTools(dialect, request).some(isHosted)
}

/** A prompt that is stored at the vendor may bring tools along. */
export function isTemplate(dialect: ClientDialect, { prompt }: JsonObject): boolean {
  return dialect === 'responses' && prompt != null
}

/** Items of the Responses API add tools in the middle of a conversation. */
function addedTools(dialect: ClientDialect, { input }: JsonObject): JsonObject[] {
  if (dialect !== 'responses' || !Array.isArray(input)) return []
  return input.flatMap((item) => (isObject(item) && Array.isArray(item.tools) ? objectsOf(item.tools) : []))
}

/** The tools that a request may have a vendor run: the most calls of each, and of all together. */
export interface HostedCalls {
  calls: Partial<Record<HostedTool, number>>
  total: number
}

/**
 * The calls that the request allows, within those that the model may run. Vendors bound them in two ways: the
 * Responses API by `max_tool_calls` over all tools, the Messages API by `max_uses` of each entry.
 */
export function hostedCallsOf(
  dialect: ClientDialect,
  request: JsonObject,
  allowed: readonly HostedTool[],
  most: number,
): HostedCalls {
  const calls: HostedCalls['calls'] = {}
  const ofAll = dialect === 'responses' ? within(request.max_tool_calls, most) : most
  for (const tool of objectsOf(request.tools)) {
    const name = hostedEntryOf(dialect, tool)?.name
    if (name === undefined || !allowed.includes(name) || calls[name] !== undefined) continue
    calls[name] = dialect === 'messages' ? within(tool.max_uses, most) : ofAll
  }
  const sum = Object.values(calls).reduce((all, one) => all + one, 0)
  return { calls, total: dialect === 'messages' ? sum : Math.min(sum, ofAll) }
}

function within(requested: unknown, most: number): number {
  return typeof requested === 'number' && Number.isInteger(requested) && requested >= 0
    ? Math.min(requested, most)
    : most
}
