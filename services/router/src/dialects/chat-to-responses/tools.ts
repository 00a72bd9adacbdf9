/**
 * Tools of chat, the choice among them and the form of the response, in the words of the Responses API. That API takes a
 * function as strict unless it hears otherwise, and chat does the opposite, so `strict` is always written.
 */

import { isObject, type JsonObject, membersOf, objectsOf } from '@gateway/contracts/json'
import { refused } from '../../core/backend-fault.ts'

export interface WrittenTools {
  members: { tools?: JsonObject[]; tool_choice?: unknown }
  dropped: string[]
}

export function toolMembers({ tools, tool_choice: choice }: JsonObject): WrittenTools {
  const given = objectsOf(tools)
  if (given.length === 0) {
    if (isObject(choice) || choice === 'required')
      throw refused('tool_choice', 'must be left out where there are no tools')
    return { members: {}, dropped: [] }
  }
  const written = given.map((tool, at) => toolOf(tool, `tools[${at}]`))
  const isCached = given.some((tool) => tool.cache_control != null || membersOf(tool.function).cache_control != null)
  const members = { tools: written, ...(choice == null ? {} : { tool_choice: choiceOf(choice) }) }
  return { members, dropped: isCached ? ['tools.cache_control'] : [] }
}

function toolOf(tool: JsonObject, field: string): JsonObject {
  if (isCustom(tool)) {
    const { name, description, format } = tool.custom
    return { type: 'custom', name, description, format: grammarOf(format) }
  }
  if (!isObject(tool.function)) throw refused(`${field}.type`, 'must be function or custom for this model')
  const { name, description, parameters, strict } = tool.function
  return { type: 'function', name, description, parameters: parameters ?? null, strict: strict === true }
}

/** Chat nests a grammar one level deeper. */
function grammarOf(format: unknown): unknown {
  if (!isObject(format) || format.type !== 'grammar') return format
  return { type: 'grammar', ...membersOf(format.grammar) }
}

function choiceOf(choice: unknown): unknown {
  if (!isObject(choice)) return choice
  if (choice.type === 'allowed_tools') {
    const { mode, tools } = membersOf(choice.allowed_tools)
    return { type: 'allowed_tools', mode, tools: objectsOf(tools).map(namedTool) }
  }
  return namedTool(choice)
}

function namedTool(choice: JsonObject): JsonObject {
  const { name } = isCustom(choice) ? choice.custom : membersOf(choice.function)
  if (typeof name !== 'string')
    throw refused('tool_choice', 'must be auto, none, required, allowed_tools, or a function or custom tool of yours')
  return { type: isCustom(choice) ? 'custom' : 'function', name }
}

export function formatOf(format: unknown): JsonObject | undefined {
  if (!isObject(format) || format.type === 'text') return undefined
  if (format.type === 'json_object') return { type: 'json_object' }
  if (format.type !== 'json_schema' || !isObject(format.json_schema))
    throw refused('response_format', 'must be text, json_object, or json_schema with a schema')
  return { type: 'json_schema', ...format.json_schema }
}

function isCustom(tool: unknown): tool is JsonObject & { custom: JsonObject } {
  return isObject(tool) && tool.type === 'custom' && isObject(tool.custom)
}
