/**
 * Takes out of a request the tools that its price does not cover. A key's plan names the models that it may use, and a
 * request is charged at the standard rates of one. So no tool calls another model, whose tokens the vendor may not even
 * report. Members that change the price are in `strip-parameters.ts`.
 */

import { parseExactly, isObject, type JsonObject } from '@gateway/contracts/json'

/** Tools that call another model: Anthropic's `advisor_20260301`, OpenRouter's `openrouter:advisor`. */
const ADVISOR = /(?:^|:)advisor(?:_|$)/
/** Part of each such name. A scan for a rare letter takes a fraction of one for a quote. */
const SIGN = Buffer.from('visor')

/** The request at the price of one model; the same bytes where it is one. The client hears of the dropped tools. */
export function stripUnpricedOptions(body: Buffer): { body: Buffer; dropped: string[] } {
  if (!body.includes(SIGN)) return { body, dropped: [] }
  const request = parseExactly(body.toString('utf8')) as JsonObject
  const advisors = Array.isArray(request.tools) ? request.tools.filter(isAdvisor) : []
  if (advisors.length === 0) return { body, dropped: [] }
  leaveOutAdvisors(request)
  return { body: Buffer.from(JSON.stringify(request)), dropped: advisors.map((tool) => `tools.${typeOf(tool)}`) }
}

function leaveOutAdvisors(request: JsonObject): void {
  const left = (request.tools as unknown[]).filter((tool) => !isAdvisor(tool))
  if (left.length > 0) request.tools = left
  // A choice among no tools is an error.
  else for (const name of ['tools', 'tool_choice']) delete request[name]
}

function isAdvisor(tool: unknown): boolean {
  return ADVISOR.test(typeOf(tool))
}

function typeOf(tool: unknown): string {
  return isObject(tool) && typeof tool.type === 'string' ? tool.type : ''
}
