/**
 * Tools of the Responses API as chat's functions, and the way back. A custom tool becomes a function with one text. Tools of
 * a namespace become functions whose names begin with it. Tools that a vendor runs are left out and reported.
 */

import { type JsonObject, isObject, objectsOf, wordOf } from '@gateway/contracts/json'
import { refused } from '../../core/backend-fault.ts'
import type { FunctionNames } from './function-names.ts'

/** A tool as the client knows it, by the name of its function. */
export interface OwnTool {
  name: string
  namespace?: string
  isCustom: boolean
}
export type OwnTools = ReadonlyMap<string, OwnTool>

export interface ToolMembers {
  tools?: JsonObject[]
  tool_choice?: unknown
  parallel_tool_calls?: boolean
}

export interface WrittenTools {
  members: ToolMembers
  own: OwnTools
  dropped: string[]
}

/** The members of the client's own tools that chat can hold. */
const KNOWN = new Map(
  Object.entries<ReadonlySet<string>>({
    function: new Set(['type', 'name', 'description', 'parameters', 'strict']),
    custom: new Set(['type', 'name', 'description', 'format']),
    namespace: new Set(['type', 'name', 'tools']),
  }),
)

/** A member that says no says nothing. */
function lostMembers(tool: JsonObject, known: ReadonlySet<string>): string[] {
  return Object.keys(tool).filter((name) => !known.has(name) && tool[name] != null && tool[name] !== false)
}

/** `tools`: the request's, and those that its input adds. */
export function writeTools(request: JsonObject, tools: JsonObject[], names: FunctionNames): WrittenTools {
  const own = new Map<string, OwnTool>()
  const functions: JsonObject[] = []
  const dropped = new Set<string>()
  const add = (tool: JsonObject, namespace?: string): void => {
    const type = wordOf(tool.type)
    const known = KNOWN.get(type)
    if (!known) return void dropped.add(`tools.${type}`)
    const owner = type === 'namespace' ? 'tools.namespace' : 'tools'
    for (const member of lostMembers(tool, known)) dropped.add(`${owner}.${member}`)
    if (type === 'namespace') return objectsOf(tool.tools).forEach((inner) => add(inner, wordOf(tool.name)))
    const isCustom = type === 'custom'
    const name = wordOf(tool.name)
    const called = names.of(name, namespace)
    own.set(called, { name, isCustom, ...(namespace === undefined ? {} : { namespace }) })
    functions.push({
      type: 'function',
      function: isCustom ? customFunction(called, tool) : plainFunction(called, tool),
    })
  }
  tools.forEach((tool) => add(tool))
  return { members: choose(request, functions, { own, names }), own, dropped: [...dropped] }
}

function plainFunction(name: string, { description, parameters, strict }: JsonObject): JsonObject {
  return {
    name,
    ...(description == null ? {} : { description }),
    ...(parameters == null ? {} : { parameters }),
    ...(strict == null ? {} : { strict }),
  }
}

function customFunction(name: string, { description, format }: JsonObject): JsonObject {
  const grammar =
    isObject(format) && typeof format.definition === 'string'
      ? `The input must match this ${wordOf(format.syntax)} grammar:\n${format.definition}`
      : null
  const parameters = {
    type: 'object',
    properties: { input: { type: 'string', description: 'The whole input of the tool, as plain text.' } },
    required: ['input'],
    additionalProperties: false,
  }
  const parts = [description, grammar].filter((text) => typeof text === 'string' && text !== '')
  return { name, ...(parts.length > 0 ? { description: parts.join('\n\n') } : {}), parameters }
}

interface Named {
  own: OwnTools
  names: FunctionNames
}

function choose(request: JsonObject, functions: JsonObject[], named: Named): ToolMembers {
  const { tool_choice: choice, parallel_tool_calls: parallel } = request
  const members: ToolMembers = {
    ...(functions.length > 0 ? { tools: functions } : {}),
    ...(functions.length > 0 && typeof parallel === 'boolean' ? { parallel_tool_calls: parallel } : {}),
  }
  if (isObject(choice)) return { ...members, ...chooseOne(choice, functions, named) }
  if (choice === 'required' && functions.length === 0) throw noTarget()
  return functions.length > 0 && choice != null ? { ...members, tool_choice: choice } : members
}

function chooseOne(choice: JsonObject, functions: JsonObject[], named: Named): ToolMembers {
  if (choice.type === 'allowed_tools') return allow(choice, functions, named)
  if (choice.type !== 'function' && choice.type !== 'custom') throw noTarget()
  return { tool_choice: { type: 'function', function: { name: nameOf(choice, named) } } }
}

/** The other tools are left out, which no model can call then. */
function allow({ mode, tools }: JsonObject, functions: JsonObject[], named: Named): ToolMembers {
  const allowed = new Set<unknown>(objectsOf(tools).map((tool) => nameOf(tool, named)))
  const left = functions.filter((tool) => allowed.has((tool.function as JsonObject).name))
  if (left.length > 0) return { tools: left, tool_choice: mode }
  if (mode === 'required') throw noTarget()
  return functions.length > 0 ? { tool_choice: 'none' } : {}
}

/** A choice names no namespace. */
function nameOf({ name, namespace }: JsonObject, { own, names }: Named): string {
  const called = names.of(wordOf(name), namespace)
  if (own.has(called)) return called
  for (const [function_, tool] of own) if (tool.name === name) return function_
  return called
}

function noTarget() {
  return refused(
    'tool_choice',
    'must be auto, none, required, or one of your functions and custom tools: this model runs no others',
  )
}

/** A name that the model calls and that no such tool has is a function's name as well. */
export function ownTool(own: OwnTools, called: string): OwnTool {
  return own.get(called) ?? { name: called, isCustom: false }
}

/** The input of a custom tool, out of its function's arguments. A model that wrote none wrote the input itself. */
export function customInput(args: string): string {
  try {
    const value: unknown = JSON.parse(args)
    if (isObject(value) && typeof value.input === 'string') return value.input
  } catch {
    // The text itself.
  }
  return args
}

export function customArguments(input: unknown): string {
  return JSON.stringify({ input })
}
