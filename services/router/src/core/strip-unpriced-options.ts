/**
 * Takes out of a request the wishes that its price does not cover. A key's plan names the models that it may use, and a
 * request is charged at the standard rates of one. So no client sends a vendor on to another model, whose tokens the vendor
 * may not even tell, and none orders a tier with a price of its own. An operator orders tiers at the vendor.
 */

import { parseExactly, isObject, type JsonObject } from '@gateway/contracts/json'

/** A member of a request that a client could change its price by. */
export interface PricedOption {
  /** The values that cost as much as no word does. The router leaves every other value out, and tells. */
  free: readonly unknown[]
}

/** Those that go on where the first one fails: OpenRouter's; Anthropic's (the types of `@anthropic-ai/sdk` 1.12, 2026) and LiteLLM's. */
const MEMBERS = ['models', 'fallbacks'] as const
/** Tools that ask another model: Anthropic's `advisor_20260301`, OpenRouter's `openrouter:advisor`. */
const ADVISOR = /(?:^|:)advisor(?:_|$)/
/** The tiers of OpenAI, Groq and others, and Anthropic's fast mode, with the values that cost as much as no word does. */
const TIERS: Record<string, ReadonlySet<unknown>> = {
  service_tier: new Set(['auto', 'default', 'standard', 'standard_only', 'on_demand', 'scale']),
  speed: new Set(['standard']),
}
/** The edge writes no space between a member's name and its value. */
const SIGNS = [...[...MEMBERS, ...Object.keys(TIERS)].map((name) => `"${name}":`), '"advisor_', ':advisor"']

/** The request at the price of one model; the same bytes where it is one. The client hears of the dropped members. */
export function stripUnpricedOptions(body: Buffer): { body: Buffer; dropped: string[] } {
  if (!SIGNS.some((sign) => body.includes(sign))) return { body, dropped: [] }
  const request = parseExactly(body.toString('utf8')) as JsonObject
  const advisors = Array.isArray(request.tools) ? request.tools.filter(isAdvisor) : []
  const members = [
    ...MEMBERS.filter((name) => request[name] != null),
    ...Object.keys(TIERS).filter((name) => isTier(request[name]) && !TIERS[name]!.has(request[name])),
  ]
  const dropped = [...members, ...advisors.map((tool) => `tools.${typeOf(tool)}`)]
  if (dropped.length === 0) return { body, dropped }
  for (const name of members) delete request[name]
  if (advisors.length > 0) leaveOutAdvisors(request)
  return { body: Buffer.from(JSON.stringify(request)), dropped }
}

function leaveOutAdvisors(request: JsonObject): void {
  const left = (request.tools as unknown[]).filter((tool) => !isAdvisor(tool))
  if (left.length > 0) request.tools = left
  // A choice among no tools is an error.
  else for (const name of ['tools', 'tool_choice']) delete request[name]
}

/** Another value is the backend's to judge. */
function isTier(value: unknown): value is string {
  return typeof value === 'string'
}

function isAdvisor(tool: unknown): boolean {
  return ADVISOR.test(typeOf(tool))
}

function typeOf(tool: unknown): string {
  return isObject(tool) && typeof tool.type === 'string' ? tool.type : ''
}
