/** Tools that a vendor runs, searches and files for, and bills beside the tokens. `hosted-requests.ts` finds them in requests. */

import type { JsonObject } from './json.ts'

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

/** The tools that a request may have a vendor run: the most calls of each, and of all together. */
export interface HostedCalls {
  calls: Partial<Record<HostedTool, number>>
  total: number
}

/** The signs of a hosted tool in the requests of a dialect. */
export interface HostedToolRules {
  /** The client itself runs the entry of `tools`: its type is on the list of its API. */
  isOwn(type: string, tool: JsonObject): boolean
  /** Undefined: no model may be configured to run it. */
  nameOf(type: string): HostedTool | undefined
  /**
   * Members that order a hosted tool, or settings that order one. They are the search of OpenAI, Perplexity, xAI and
   * Alibaba, OpenRouter's plugins and presets, and Anthropic's MCP connector and containers. No target's limit bounds the
   * calls that they lead to, so none of them leaves.
   */
  members: readonly string[]
  /** The member that names a request which the vendor stores. It may bring tools along. */
  template?: string
  /** Entries of tools outside of `tools`. */
  addedTools?(request: JsonObject): JsonObject[]
  /** The member that bounds the calls: of all tools together, or of each entry. */
  limit?: { of: 'request' | 'entry'; member: string }
}
