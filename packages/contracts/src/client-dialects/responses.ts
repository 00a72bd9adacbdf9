/** OpenAI's Responses API. */

import { openAiErrorBody } from '../error-bodies.ts'
import type { GatewayError } from '../errors.ts'
import type { HostedTool } from '../hosted-tools.ts'
import { isObject, type JsonObject, membersOf, objectsOf } from '../json.ts'
import { type BrokenStream, type ClientProfile, COMMENT, DONE, eventOf } from './profile.ts'

/** By the types of `openai` 7.55 (2026): its client executes these. */
const OWN_TOOLS: ReadonlySet<string> = new Set([
  ...['function', 'custom', 'local_shell', 'apply_patch'],
  ...['computer', 'computer_use', 'computer_use_preview'],
])
const HOSTED_TOOLS: ReadonlyMap<string, HostedTool> = new Map([
  ['web_search', 'web_search'],
  ['web_search_2025_08_26', 'web_search'],
  ['web_search_preview', 'web_search'],
  ['web_search_preview_2025_03_11', 'web_search'],
  ['file_search', 'file_search'],
  ['code_interpreter', 'code_interpreter'],
  ['image_generation', 'image_generation'],
  ['mcp', 'mcp'],
])

/**
 * Open Responses (specification 2026-04-24) ends a stream with `[DONE]`, which OpenAI's service does not send. OpenAI's SDKs
 * for Node (7.55) and Python end there, and Codex ignores events that are no JSON (2026-11-29). A failure has no `[DONE]`:
 * clients take it for a good end.
 */
export const responses: ClientProfile = {
  resource: 'responses',
  responseIdPrefix: 'resp_',
  errorBody: openAiErrorBody,
  errorSchemas: () => ['NestedError'],
  stream: {
    keepAlive: COMMENT,
    done: DONE,
    terminalEvents: ['response.completed', 'response.incomplete'],
    isNumbered: true,
    failure,
  },
  hostedTools: {
    isOwn,
    nameOf: (type) => HOSTED_TOOLS.get(type),
    members: ['plugins', 'preset', 'search_parameters'],
    template: 'prompt',
    addedTools,
    limit: { of: 'request', member: 'max_tool_calls' },
  },
}

function isOwn(type: string, tool: JsonObject): boolean {
  if (OWN_TOOLS.has(type)) return true
  // Without an environment of its own, a shell is the client's.
  if (type === 'shell') return tool.environment == null || membersOf(tool.environment).type === 'local'
  return type === 'tool_search' && tool.execution === 'client'
}

/** Items add tools in the middle of a conversation. */
function addedTools({ input }: JsonObject): JsonObject[] {
  if (!Array.isArray(input)) return []
  return input.flatMap((item) => (isObject(item) && Array.isArray(item.tools) ? objectsOf(item.tools) : []))
}

/** A failure is the response that the stream began with, failed. */
function failure(error: GatewayError, { first, nextNumber }: BrokenStream): string {
  const { response } = membersOf(first)
  return isObject(response) ? failedResponse(response, nextNumber, error) : streamError(nextNumber, error)
}

function failedResponse(response: object, sequence: number, { message, code }: GatewayError): string {
  const failed = { ...response, status: 'failed', error: { code, message } }
  return eventOf('response.failed', { type: 'response.failed', sequence_number: sequence, response: failed })
}

/** OpenAI's types have the error's members in the event itself; Open Responses and OpenAI's service nest them. */
function streamError(sequence: number, { message, code }: GatewayError): string {
  const said = { code, message, param: null }
  const error = { type: 'server_error', ...said }
  return eventOf('error', { type: 'error', sequence_number: sequence, ...said, error })
}
