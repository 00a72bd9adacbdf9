/**
 * The settings that a response repeats, from its request. Open Responses (specification 2026-04-24) wants each of them,
 * and a number where OpenAI's own types allow null. A request that says nothing has OpenAI's defaults.
 */

import { type JsonObject, isObject, membersOf, objectsOf } from '@gateway/contracts/json'

export function settingsOf(request: JsonObject): JsonObject {
  return {
    access_programs: null,
    background: false,
    frequency_penalty: request.frequency_penalty ?? 0,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    metadata: request.metadata ?? {},
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    presence_penalty: request.presence_penalty ?? 0,
    previous_response_id: null,
    prompt_cache_key: request.prompt_cache_key ?? null,
    reasoning: reasoningOf(request.reasoning),
    safety_identifier: request.safety_identifier ?? null,
    service_tier: 'default',
    store: false,
    temperature: request.temperature ?? 1,
    text: textOf(request.text),
    tool_choice: request.tool_choice ?? 'auto',
    tools: objectsOf(request.tools).map(completeTool),
    top_logprobs: request.top_logprobs ?? 0,
    top_p: request.top_p ?? 1,
    truncation: 'disabled',
    ...(request.user == null ? {} : { user: request.user }),
  }
}

function reasoningOf(reasoning: unknown): JsonObject {
  const { effort = null, summary = null, ...others } = membersOf(reasoning)
  return { ...others, effort, summary }
}

function textOf(text: unknown): JsonObject {
  const { format, verbosity, ...others } = membersOf(text)
  return { ...others, format: formatOf(format), ...(verbosity == null ? {} : { verbosity }) }
}

function formatOf(format: unknown): JsonObject {
  if (!isObject(format)) return { type: 'text' }
  if (format.type !== 'json_schema') return format
  const { description = null, schema = null, strict } = format
  return { ...format, description, schema, strict: strict ?? false }
}

/** A tool that the client left without a member has null there: nobody chose a value. */
function completeTool(tool: JsonObject): JsonObject {
  if (tool.type !== 'function') return tool
  const { description = null, parameters = null, strict = null } = tool
  return { ...tool, description, parameters, strict }
}
