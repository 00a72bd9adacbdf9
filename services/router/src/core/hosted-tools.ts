/**
 * Leaves out of a request the tools that the vendor would run and that its price does not cover. It also writes the
 * limits that the price was reserved by. A tool stays only if the list of its API has its type and the operator allows
 * it for the model. The request must also have calls of it left.
 *
 * The client reads the names of all others. It gets a 400 where it demands one of them.
 */

import { asksHostedTools, hostedEntryOf, hostedToolRules, isTemplate } from '@gateway/contracts/hosted-requests'
import type { HostedCalls, HostedTool } from '@gateway/contracts/hosted-tools'
import { parseExactly, isObject, type JsonObject, membersOf, objectsOf } from '@gateway/contracts/json'
import type { ClientDialect, TargetDialect } from '@gateway/contracts/vendors'
import { refused } from './backend-fault.ts'

export const NO_CALLS: HostedCalls = { calls: {}, total: 0 }

export interface HostedToolRequest {
  /** The dialect of client and target. */
  dialect: ClientDialect
  /** Undefined: nobody has looked yet. */
  isRequested: boolean | undefined
  allowed: HostedCalls
}

/** No call is allowed where no limit bounds the calls. */
export function allowedAt(
  dialect: ClientDialect,
  { hostedTools = [] }: { hostedTools?: readonly TargetDialect[] },
  allowed: HostedCalls | undefined,
): HostedCalls {
  return allowed !== undefined && hostedTools.some((one) => one === dialect) ? allowed : NO_CALLS
}

/** The same bytes where nothing is left out and no limit is to be written. */
export function withPricedTools(
  body: Buffer,
  model: string,
  { dialect, isRequested, allowed }: HostedToolRequest,
): { body: Buffer; dropped: string[] } {
  if (isRequested === false || (isRequested === undefined && !mayRequest(body, dialect))) return { body, dropped: [] }
  const request = parseExactly(body.toString('utf8')) as JsonObject
  if (!asksHostedTools(dialect, request)) return { body, dropped: [] }
  if (isTemplate(dialect, request)) throw refused('prompt', 'must be left out: send its text as instructions')
  const members = hostedToolRules(dialect).members.filter((name) => request[name] != null)
  for (const name of members) delete request[name]
  const choice = new ToolChoice(dialect, model, allowed)
  choice.takeFrom(request)
  return { body: Buffer.from(JSON.stringify(request)), dropped: [...members, ...choice.dropped] }
}

/** The edge writes no space between a member's name and its value. */
function mayRequest(body: Buffer, dialect: ClientDialect): boolean {
  return [...hostedToolRules(dialect).members, 'tools', 'prompt'].some((name) => body.includes(`"${name}":`))
}

class ToolChoice {
  readonly #names = new Set<string>()
  readonly #left: Map<string, number>
  readonly #dialect: ClientDialect
  readonly #model: string
  readonly #total: number
  #kept = 0
  /** The names by which a choice calls those that were left out. */
  readonly #gone = new Set<unknown>()

  constructor(dialect: ClientDialect, model: string, { calls, total }: HostedCalls) {
    this.#dialect = dialect
    this.#model = model
    this.#left = new Map(Object.entries(calls))
    this.#total = total
  }

  get dropped(): string[] {
    return [...this.#names]
  }

  takeFrom(request: JsonObject): void {
    if (Array.isArray(request.tools)) {
      const tools = (request.tools as unknown[]).flatMap((tool) => this.#take(tool))
      if (tools.length > 0) request.tools = tools
      else delete request.tools
    }
    if (Array.isArray(request.input)) request.input = request.input.map((item) => this.#withoutHosted(item))
    if (this.#gone.size > 0) this.#fitChoice(request)
    const { limit } = hostedToolRules(this.#dialect)
    if (this.#kept > 0 && limit?.of === 'request') request[limit.member] = this.#total
  }

  #take(tool: unknown): unknown[] {
    const entry = hostedEntryOf(this.#dialect, tool)
    if (entry === null) return [tool]
    const left = entry.name === undefined ? 0 : (this.#left.get(entry.name) ?? 0)
    if (left === 0 || !isOfThePrice(entry.name!, tool as JsonObject, this.#model)) return this.#drop(entry.type, tool)
    this.#kept++
    const { limit } = hostedToolRules(this.#dialect)
    if (limit?.of !== 'entry') return [tool]
    // Each entry has a limit of its own.
    this.#left.set(entry.name!, 0)
    return [{ ...(tool as JsonObject), [limit.member]: left }]
  }

  #drop(type: string, tool: unknown): [] {
    this.#names.add(`tools.${type}`)
    this.#gone.add(type).add(membersOf(tool).name)
    return []
  }

  /** No price is reserved for tools that an item adds in the middle of a conversation. */
  #withoutHosted(item: unknown): unknown {
    if (!isObject(item) || !Array.isArray(item.tools)) return item
    const tools = (item.tools as unknown[]).flatMap((tool) => {
      const entry = hostedEntryOf(this.#dialect, tool)
      return entry === null ? [tool] : this.#drop(entry.type, tool)
    })
    return tools.length === item.tools.length ? item : { ...item, tools }
  }

  #fitChoice(request: JsonObject): void {
    const { tool_choice: choice } = request
    const type = isObject(choice) ? choice.type : choice
    const isLeft = request.tools !== undefined
    if (!isLeft && (type === 'required' || type === 'any')) throw toolUnavailable()
    if (type === 'allowed_tools' && isObject(choice)) this.#fitAllowed(request, choice)
    else if (isObject(choice) && this.#demands(choice)) throw toolUnavailable()
    // A choice among no tools is an error.
    if (!isLeft) delete request.tool_choice
  }

  #demands({ type, name }: JsonObject): boolean {
    if (type === 'tool') return this.#gone.has(name)
    return type !== 'function' && type !== 'custom' && this.#gone.has(type)
  }

  #fitAllowed(request: JsonObject, choice: JsonObject): void {
    const tools = objectsOf(choice.tools).filter((tool) => !this.#demands(tool))
    if (tools.length > 0) request.tool_choice = { ...choice, tools }
    else if (choice.mode === 'required') throw toolUnavailable()
    else request.tool_choice = 'none'
  }
}

/** OpenAI's own models without reasoning pay another price for the older search, and a larger container costs more. */
function isOfThePrice(name: HostedTool, tool: JsonObject, model: string): boolean {
  if (name === 'web_search') return !(String(tool.type).startsWith('web_search_preview') && /(?:^|\/)gpt-4/.test(model))
  if (name !== 'code_interpreter') return true
  const { type, memory_limit: memory } = membersOf(tool.container)
  return type === 'auto' && (memory == null || memory === '1g')
}

function toolUnavailable() {
  return refused('tool_choice', 'must be auto, none, or one of your own tools: this model runs none of the vendor’s')
}
