/**
 * The Messages API's tools and the choice among them, as chat has them. Chat knows tools with a schema only. Those that the
 * vendor runs or has trained its models on are left out and reported, unless the model must call one of them.
 */

import { type JsonObject, isObject, membersOf, objectsOf } from '@gateway/contracts/json'
import { refused } from '../../core/backend-fault.ts'

export interface ChatTools {
  tools?: JsonObject[]
  tool_choice?: unknown
  parallel_tool_calls?: false
}

const KNOWN = new Set(['name', 'description', 'input_schema', 'strict', 'type', 'cache_control'])

export function toolMembers({ tools, tool_choice: choice }: JsonObject, lost: Set<string>): ChatTools {
  const own = objectsOf(tools).flatMap((tool) => toolOf(tool, lost))
  const requested = membersOf(choice)
  const chosen = choiceOf(requested, own)
  if (own.length === 0) return {}
  return {
    tools: own,
    ...(chosen === undefined ? {} : { tool_choice: chosen }),
    ...(requested.disable_parallel_tool_use === true ? { parallel_tool_calls: false } : {}),
  }
}

function toolOf(tool: JsonObject, lost: Set<string>): JsonObject[] {
  const { name, description, input_schema: parameters, strict, type = 'custom' } = tool
  if (typeof type === 'string' && type !== 'custom') {
    lost.add(`tools.${type}`)
    return []
  }
  if (tool.cache_control != null) lost.add('cache_control')
  for (const field of Object.keys(tool)) if (!KNOWN.has(field) && tool[field] != null) lost.add(`tools.${field}`)
  return [
    {
      type: 'function',
      function: { name, description, parameters: withProperties(parameters), ...(strict === true ? { strict } : {}) },
    },
  ]
}

/** OpenAI refuses an object without them (inboxapi/cli#106, 2026-05-06). MCP writes tools without arguments so. */
function withProperties(schema: unknown): unknown {
  const lacksThem = isObject(schema) && schema.type === 'object' && schema.properties === undefined
  return lacksThem ? { ...schema, properties: {} } : schema
}

function choiceOf(choice: JsonObject, own: JsonObject[]): unknown {
  switch (choice.type) {
    case 'any':
      if (own.length === 0) throw refused('tool_choice', 'must not be any: this model offers none of the tools')
      return 'required'
    case 'tool':
      if (!own.some(({ function: called }) => isObject(called) && called.name === choice.name))
        throw refused('tool_choice.name', 'must be a tool that this model offers')
      return { type: 'function', function: { name: choice.name } }
    case 'auto':
    case 'none':
      return choice.type
    default:
      return undefined
  }
}
