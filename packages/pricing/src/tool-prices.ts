/**
 * The price of a call of a vendor's tool beside the tokens, in US dollars. No network, no clock.
 *
 * A tool is listed only where each response reports the number of its calls, and where a limit that the gateway sends bounds them.
 * All others have no price here: an operator who names one in `toolUsdPerCall` is responsible for it.
 */

import type { ServedModelConfig } from '@gateway/contracts/config'
import type { HostedTool } from '@gateway/contracts/hosted-tools'
import type { ListedTools } from './list-rates.ts'

export type ToolPrices = Partial<Record<HostedTool, number>>

/**
 * Search on the web: 10 dollars a thousand at Anthropic (platform.claude.com/docs/en/about-claude/pricing) and at OpenAI
 * (developers.openai.com/api/docs/pricing), both by their lists of 2026-09-23 in `@pydantic/genai-prices`. Search in files: 2.50
 * dollars a thousand at OpenAI, by the same list. Code interpreter: 0.03 dollars a container of 1 GB at OpenAI
 * (`code_interpreter_cost_per_session` of LiteLLM's list, 2026-11-28). Fetching a page and MCP
 * cost tokens alone (the same two pages, 2026-11-28).
 */
const USUAL: ToolPrices = {
  web_search: 0.01,
  web_fetch: 0,
  file_search: 0.0025,
  code_interpreter: 0.03,
  mcp: 0,
}

const OF_VENDOR = new Map(
  Object.entries<readonly HostedTool[]>({
    anthropic: ['web_search', 'web_fetch'],
    openai: ['web_search', 'file_search', 'code_interpreter', 'mcp'],
  }),
)

/**
 * A direct model has its vendor's tools, at the prices that the list of rates has for the model. A lane has those that its operator
 * allows: its targets may be of several vendors, which charge the same.
 */
export function toolPricesOf(model: ServedModelConfig, listed: ListedTools = {}): ToolPrices {
  const names = model.direct ? (OF_VENDOR.get(model.ownedBy.toLowerCase()) ?? []) : model.hostedTools
  const known = names.filter((name) => USUAL[name] !== undefined)
  return Object.fromEntries(known.map((name) => [name, listed[name] ?? USUAL[name]!]))
}
