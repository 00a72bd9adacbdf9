/**
 * Reads the items that vendors bill or report beside the tokens: sound, tool calls, and their own price of the request.
 * The names are published. OpenAI and Google have `audio_tokens`, Anthropic and OpenRouter `server_tool_use`. xAI has `server_side_tool_usage_details`, `num_sources_used` and `cost_in_usd_ticks`
 * (docs.x.ai/developers/cost-tracking). Perplexity has `num_search_queries`, and OpenRouter and Perplexity have `cost`
 * (each read on 2026-11-28).
 *
 * An impossible figure counts as none.
 */

import { isObject, type JsonObject, membersOf, objectsOf, plainNumber } from '@gateway/contracts/json'
import type { TokenUsage } from '@gateway/contracts/usage'

/** More calls are a backend's mistake. */
const MOST_CALLS = 10_000
/** Kinds of tools that one response may call. */
export const MOST_TOOLS = 64
/** The ledger's row can hold such a name, and a message on the bus {@link MOST_TOOLS} of them. */
export const TOOL_NAME = /^[\w.:-]{1,64}$/
const MOST_COST_NANO_USD = 1e15
const TICKS_PER_NANO_USD = 10

export type ToolCalls = Record<string, number>
type Beside = Pick<
  TokenUsage,
  'audioPromptTokens' | 'cachedAudioTokens' | 'audioCompletionTokens' | 'toolCalls' | 'vendorCostNanoUsd'
>

export function billedBeside(usage: JsonObject): Beside {
  const prompt = membersOf(usage.prompt_tokens_details ?? usage.input_tokens_details)
  const completion = membersOf(usage.completion_tokens_details ?? usage.output_tokens_details)
  return {
    // A zero means that there is none.
    ...(typeof plainNumber(prompt.audio_tokens) === 'number' && { audioPromptTokens: count(prompt.audio_tokens) }),
    ...some('cachedAudioTokens', count(membersOf(prompt.cached_tokens_details).audio_tokens)),
    ...some('audioCompletionTokens', count(completion.audio_tokens)),
    ...callsMember(callsIn(usage)),
    ...costIn(usage),
  }
}

function some<Name extends keyof Beside>(name: Name, value: number): Partial<Record<Name, number>> {
  return value > 0 ? ({ [name]: value } as Record<Name, number>) : {}
}

export function callsMember(calls: ToolCalls): Pick<TokenUsage, 'toolCalls'> {
  return Object.keys(calls).length > 0 ? { toolCalls: calls } : {}
}

function callsIn(usage: JsonObject): ToolCalls {
  const { server_tool_use: requests, server_side_tool_usage_details: ofXai } = usage
  const reported = [
    ...[...namesOf(requests, '_requests'), ...namesOf(ofXai, '_calls')].slice(0, MOST_TOOLS - 2),
    ['search_sources', usage.num_sources_used] as const,
    ['web_search', usage.num_search_queries] as const,
  ]
  return Object.fromEntries(
    reported.flatMap(([name, value]) => (callCount(value) > 0 ? [[name, callCount(value)]] : [])),
  )
}

function namesOf(counts: unknown, ending: string): (readonly [string, unknown])[] {
  return Object.entries(membersOf(counts)).flatMap(([member, value]) => {
    const name = member.slice(0, -ending.length)
    return member.endsWith(ending) && TOOL_NAME.test(name) ? [[name, value] as const] : []
  })
}

function costIn({ cost, cost_in_usd_ticks }: JsonObject): Pick<Beside, 'vendorCostNanoUsd'> {
  const ticks = plainNumber(cost_in_usd_ticks)
  const usd = plainNumber(isObject(cost) ? cost.total_cost : cost)
  const nanoUsd = typeof ticks === 'number' ? ticks / TICKS_PER_NANO_USD : typeof usd === 'number' ? usd * 1e9 : NaN
  return nanoUsd >= 0 && nanoUsd <= MOST_COST_NANO_USD ? { vendorCostNanoUsd: Math.round(nanoUsd) } : {}
}

function count(reported: unknown): number {
  const value = plainNumber(reported)
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0
}

function callCount(value: unknown): number {
  return Math.min(count(value), MOST_CALLS)
}

const OF_ITEM = new Map(
  Object.entries<string>({
    web_search_call: 'web_search',
    file_search_call: 'file_search',
    image_generation_call: 'image_generation',
    mcp_call: 'mcp',
  }),
)

/**
 * Counts a response's calls by its items. OpenAI bills a search and not the pages that it opens, and a container however often
 * code runs in it.
 */
export class ItemCalls {
  readonly counts: ToolCalls = {}
  readonly #containers = new Set<unknown>()

  /** An item that is whole. */
  note({ type, action, container_id: container }: JsonObject): void {
    if (type === 'code_interpreter_call') {
      if (this.#containers.size >= MOST_CALLS || this.#containers.has(container)) return
      this.#containers.add(container)
      return this.#add('code_interpreter')
    }
    const name = typeof type === 'string' ? OF_ITEM.get(type) : undefined
    if (name === undefined || (name === 'web_search' && (membersOf(action).type ?? 'search') !== 'search')) return
    this.#add(name)
  }

  #add(name: string): void {
    this.counts[name] = Math.min((this.counts[name] ?? 0) + 1, MOST_CALLS)
  }
}

/** The calls of a whole response. Where the vendor has counted the searches that it bills, its figure stands. */
export function callsOfResponse(response: JsonObject, counted?: ToolCalls): ToolCalls {
  const calls = { ...(counted ?? countItems(response)) }
  const searches = membersOf(membersOf(response.tool_usage).web_search).num_requests
  if (typeof searches !== 'number') return calls
  const { web_search: _, ...others } = calls
  return callCount(searches) > 0 ? { ...others, web_search: callCount(searches) } : others
}

function countItems({ output }: JsonObject): ToolCalls {
  const items = new ItemCalls()
  for (const item of objectsOf(output)) items.note(item)
  return items.counts
}
