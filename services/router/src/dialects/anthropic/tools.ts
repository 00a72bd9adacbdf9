/**
 * Tools, the choice among them, and answers in JSON: by the API's structured outputs where the model has them, else by a
 * tool of our own that the model must call and whose arguments are the answer. JSON of any shape is asked for in words.
 */

import { isObject } from '@gateway/contracts/json'
import { cached, type Json } from './content.ts'
import type { JsonBy } from './json-text.ts'
import { refused } from '../../core/backend-fault.ts'

/** A call of it is the answer's text. */
export const ANSWER_TOOL = 'svc_answer_in_json'

export interface ToolMembers {
  tools?: Json[]
  tool_choice?: Json
  output_config?: { format: Json }
  json: JsonBy | null
  /** Parameters that could not be kept. */
  dropped: string[]
}

/** platform.claude.com/docs/en/build-with-claude/structured-outputs, read in November 2026: 4.5 and later. */
const STRUCTURED = /claude-(?:opus|sonnet|haiku)-(?:4-[5-9]|4-\d\d(?!\d)|[5-9](?!\d))|claude-mythos/

export function toolMembers(chat: Json, model: string): ToolMembers {
  const own = ownTools(chat.tools, STRUCTURED.test(model))
  const choice = toolChoiceOf(chat, own.length > 0)
  const members: ToolMembers = { json: null, dropped: [], ...(own.length > 0 ? { tools: own } : {}) }
  if (choice) members.tool_choice = choice
  const schema = schemaOf(chat.response_format)
  if (schema === null) return members
  if (schema.isGiven && STRUCTURED.test(model)) {
    return { ...members, output_config: { format: { type: 'json_schema', schema: schema.schema } } }
  }
  // The model may not both call the client's tools and be bound to ours.
  if (own.length > 0) return { ...members, dropped: ['response_format'] }
  if (!schema.isGiven) return { ...members, json: 'text' }
  const description = 'Gives the answer. Its arguments are the whole answer.'
  const tool = { name: ANSWER_TOOL, description, input_schema: schema.schema }
  return { tools: [tool], tool_choice: { type: 'tool', name: ANSWER_TOOL }, json: 'call', dropped: [] }
}

function schemaOf(format: unknown): { schema: unknown; isGiven: boolean } | null {
  if (!isObject(format) || format.type === 'text') return null
  if (format.type === 'json_object') return { schema: { type: 'object' }, isGiven: false }
  const { json_schema: given } = format
  if (format.type !== 'json_schema' || !isObject(given) || !isObject(given.schema))
    throw refused('response_format', 'must be text, json_object, or json_schema with a schema')
  return { schema: given.schema, isGiven: true }
}

function ownTools(tools: unknown, hasStrict: boolean): Json[] {
  if (!Array.isArray(tools)) return []
  return tools.filter(isObject).map((tool, index) => {
    if (!isObject(tool.function)) throw refused(`tools[${index}].type`, 'must be function for this model')
    const { name, description, parameters, strict } = tool.function
    return {
      name,
      description,
      input_schema: schemaOfObject(parameters),
      ...(strict === true && hasStrict ? { strict } : {}),
      ...cached(tool.function),
      ...cached(tool),
    }
  })
}

/** The API demands the type. OpenAI takes `{}` for no arguments. */
function schemaOfObject(parameters: unknown): unknown {
  if (parameters == null) return { type: 'object', properties: {} }
  return isObject(parameters) && parameters.type === undefined ? { type: 'object', ...parameters } : parameters
}

function toolChoiceOf(chat: Json, hasTools: boolean): Json | undefined {
  const parallel = chat.parallel_tool_calls === false ? { disable_parallel_tool_use: true } : {}
  const { tool_choice: choice } = chat
  if (!hasTools) return undefined
  if (choice === 'none') return { type: 'none' }
  if (choice === 'required') return { type: 'any', ...parallel }
  if (isObject(choice)) {
    if (!isObject(choice.function)) throw refused('tool_choice', 'must be auto, none, required or a function')
    return { type: 'tool', name: choice.function.name, ...parallel }
  }
  return choice === 'auto' || chat.parallel_tool_calls === false ? { type: 'auto', ...parallel } : undefined
}
