/**
 * Finds the tools in a request that a vendor would run. A request orders them by entries of `tools` whose type is the vendor's.
 *
 * Invariant: an entry is the client's own only if its type is on the list of its API. A type that nobody here knows is a
 * hosted tool without a name, and no model may be configured to run it.
 */

import { CLIENT_DIALECTS } from './client-dialects.ts'
import type { HostedCalls, HostedTool, HostedToolRules } from './hosted-tools.ts'
import { isObject, type JsonObject, objectsOf } from './json.ts'
import type { ClientDialect } from './vendors.ts'

/** An entry of `tools` that the vendor runs. `name` is undefined where no model may be configured to run it. */
export interface HostedEntry {
  type: string
  name: HostedTool | undefined
}

export function hostedToolRules(dialect: ClientDialect): HostedToolRules {
  return CLIENT_DIALECTS[dialect].hostedTools
}

/** Null: the client runs the tool itself, or the entry is a plain function. */
export function hostedEntryOf(dialect: ClientDialect, tool: unknown): HostedEntry | null {
  if (!isObject(tool) || tool.type == null) return null
  const { type } = tool
  if (typeof type !== 'string') return { type: '', name: undefined }
  const rules = hostedToolRules(dialect)
  if (type === 'namespace' ? isOwnNamespace(dialect, tool) : rules.isOwn(type, tool)) return null
  return { type, name: rules.nameOf(type) }
}

function isOwnNamespace(dialect: ClientDialect, { tools }: JsonObject): boolean {
  return objectsOf(tools).every((inner) => hostedEntryOf(dialect, inner) === null)
}

/** Returns true when the request may have a vendor run a tool. */
export function asksHostedTools(dialect: ClientDialect, request: JsonObject): boolean {
  const rules = hostedToolRules(dialect)
  if (rules.members.some((name) => request[name] != null)) return true
  if (isTemplate(dialect, request)) return true
  const isHosted = (tool: unknown) => hostedEntryOf(dialect, tool) !== null
  return objectsOf(request.tools).some(isHosted) || (rules.addedTools?.(request) ?? []).some(isHosted)
}

/** A prompt that is stored at the vendor may bring tools along. */
export function isTemplate(dialect: ClientDialect, request: JsonObject): boolean {
  const { template } = hostedToolRules(dialect)
  return template !== undefined && request[template] != null
}

/** The calls that the request allows, within those that the model may run. */
export function hostedCallsOf(
  dialect: ClientDialect,
  request: JsonObject,
  allowed: readonly HostedTool[],
  most: number,
): HostedCalls {
  const { limit } = hostedToolRules(dialect)
  const calls: HostedCalls['calls'] = {}
  const ofAll = limit?.of === 'request' ? within(request[limit.member], most) : most
  for (const tool of objectsOf(request.tools)) {
    const name = hostedEntryOf(dialect, tool)?.name
    if (name === undefined || !allowed.includes(name) || calls[name] !== undefined) continue
    calls[name] = limit?.of === 'entry' ? within(tool[limit.member], most) : ofAll
  }
  const sum = Object.values(calls).reduce((all, one) => all + one, 0)
  return { calls, total: limit?.of === 'entry' ? sum : Math.min(sum, ofAll) }
}

function within(requested: unknown, most: number): number {
  return typeof requested === 'number' && Number.isInteger(requested) && requested >= 0
    ? Math.min(requested, most)
    : most
}
