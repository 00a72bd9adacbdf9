/**
 * Tools, the choice among them, and responses in JSON. JSON comes by the API's structured outputs where the model has
 * them. Otherwise the model must call a tool of our own, whose arguments are the response. The router describes JSON of
 * any shape in words.
 */

import { isObject, membersOf, objectsOf } from '@gateway/contracts/json'
import { cached, type Json } from './content.ts'
import type { JsonBy } from './json-text.ts'
import type { MessagesForm } from '../../core/messages-form.ts'
import { refused } from '../../core/backend-fault.ts'

/** A call of it is the response's text. */
export const OUTPUT_TOOL = 'svc_answer_in_json'

export interface ToolMembers {
  tools?: Json[]
  tool_choice?: Json
  output_config?: { format: Json }
  json: JsonBy | null
  /** Parameters that could not be kept. */
  dropped: string[]
}

export function toolMembers(chat: Json, { hasStructuredOutput, forcedTools }: MessagesForm): ToolMembers {
  const lost = new Set<string>()
  const all = ownTools(chat.tools, hasStructuredOutput, lost)
  const { tools: own, choice: wished } = choose(chat, all)
  const canForce = forcedTools !== 'never'
  const choice = canForce ? wished : unforced(wished, lost)
  const members: ToolMembers = { json: null, dropped: [...lost], ...(own.length > 0 ? { tools: own } : {}) }
  if (choice) members.tool_choice = choice
  const schema = schemaOf(chat.response_format)
  if (schema === null) return members
  if (schema.isGiven && hasStructuredOutput) {
    return { ...members, output_config: { format: { type: 'json_schema', schema: schema.schema } } }
  }
  // The model may not both call the client's tools and be bound to ours.
  if (own.length > 0) return { ...members, dropped: [...lost, 'response_format'] }
  if (!schema.isGiven || !canForce)
    return { ...members, json: 'text', dropped: [...lost, ...(schema.isGiven ? ['response_format'] : [])] }
  const description = 'Gives the answer. Its arguments are the whole answer.'
  const tool = { name: OUTPUT_TOOL, description, input_schema: schema.schema }
  return { tools: [tool], tool_choice: { type: 'tool', name: OUTPUT_TOOL }, json: 'call', dropped: [] }
}

/** The model may call a tool, but need not: the client is informed. */
function unforced(choice: Json | undefined, lost: Set<string>): Json | undefined {
  if (choice?.type !== 'any' && choice?.type !== 'tool') return choice
  lost.add('tool_choice')
  const { name: _name, ...others } = choice
  return { ...others, type: 'auto' }
}

function schemaOf(format: unknown): { schema: unknown; isGiven: boolean } | null {
  if (!isObject(format) || format.type === 'text') return null
  if (format.type === 'json_object') return { schema: { type: 'object' }, isGiven: false }
  const { json_schema: given } = format
  if (format.type !== 'json_schema' || !isObject(given) || !isObject(given.schema))
    throw refused('response_format', 'must be text, json_object, or json_schema with a schema')
  return { schema: given.schema, isGiven: true }
}

const OF_TOOL = new Set(['type', 'function', 'cache_control'])
const OF_FUNCTION = new Set(['name', 'description', 'parameters', 'strict', 'cache_control'])

function ownTools(tools: unknown, hasStrict: boolean, lost: Set<string>): Json[] {
  if (!Array.isArray(tools)) return []
  return tools.filter(isObject).map((tool, index) => {
    if (!isObject(tool.function)) throw refused(`tools[${index}].type`, 'must be function for this model')
    for (const [object, known] of [
      [tool, OF_TOOL],
      [tool.function, OF_FUNCTION],
    ] as const)
      for (const member of Object.keys(object))
        if (object[member] != null && !known.has(member)) lost.add(`tools.${member}`)
    const { name, description, parameters, strict } = tool.function
    if (strict === true && !hasStrict) lost.add('tools.strict')
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

interface Choice {
  tools: Json[]
  choice?: Json | undefined
}

function choose({ tool_choice: choice, parallel_tool_calls: parallel }: Json, tools: Json[]): Choice {
  const alone = parallel === false ? { disable_parallel_tool_use: true } : {}
  const mayNone = choice == null || choice === 'auto' || choice === 'none'
  if (tools.length === 0) {
    if (mayNone || isAllowedTools(choice)) return { tools }
    throw refused('tool_choice', 'must be left out where there are no tools')
  }
  if (isObject(choice))
    return isAllowedTools(choice) ? allow(choice, tools, alone) : { tools, choice: chooseOne(choice, alone) }
  if (choice === 'none') return { tools, choice: { type: 'none' } }
  if (choice === 'required') return { tools, choice: { type: 'any', ...alone } }
  return { tools, choice: choice === 'auto' || parallel === false ? { type: 'auto', ...alone } : undefined }
}

function chooseOne(choice: Json, alone: Json): Json {
  if (!isObject(choice.function))
    throw refused('tool_choice', 'must be auto, none, required, allowed_tools or a function')
  return { type: 'tool', name: choice.function.name, ...alone }
}

function isAllowedTools(choice: unknown): choice is Json {
  return isObject(choice) && choice.type === 'allowed_tools'
}

/** The other tools are left out, which no model can call then. */
function allow({ allowed_tools: given }: Json, tools: Json[], alone: Json): Choice {
  const { mode, tools: allowed } = membersOf(given)
  const names = new Set(objectsOf(allowed).map((tool) => membersOf(tool.function).name))
  const left = tools.filter(({ name }) => names.has(name))
  if (left.length > 0) return { tools: left, choice: { type: mode === 'required' ? 'any' : 'auto', ...alone } }
  if (mode === 'required') throw refused('tool_choice.allowed_tools.tools', 'must name one of your tools')
  return { tools, choice: { type: 'none' } }
}
