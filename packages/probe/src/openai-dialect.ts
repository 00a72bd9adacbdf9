/**
 * OpenAI's own wire format, which most servers speak.
 */

import { isObject, objectsOf, type JsonObject } from '@gateway/contracts/json'
import { numberOf, textOf, type Dialect, type ResponseContent } from './dialect.ts'

export const openAiDialect: Dialect = {
  path: '/chat/completions',
  headers: (apiKey): Record<string, string> => (apiKey ? { authorization: `Bearer ${apiKey}` } : {}),
  write: (body) => body,
  read,
  lastEvent: '[DONE]',
}

function read(received: ResponseContent, json: JsonObject): void {
  for (const choice of objectsOf(json['choices'])) readChoice(received, choice)
  const { usage } = json
  if (!isObject(usage)) return
  received.usage = { prompt: numberOf(usage['prompt_tokens']), completion: numberOf(usage['completion_tokens']) }
}

function readChoice(received: ResponseContent, choice: JsonObject): void {
  received.choices = Math.max(received.choices, numberOf(choice['index']) + 1)
  received.finish = textOf(choice['finish_reason']) || received.finish
  received.logprobs ||= isObject(choice['logprobs'])
  const said = [choice['message'], choice['delta']].find(isObject) ?? {}
  received.text += textOf(said['content'])
  for (const [at, call] of objectsOf(said['tool_calls']).entries()) readCall(received, call, at)
}

/** A stream names a tool in one event and its arguments, piece by piece, in later ones. */
function readCall(received: ResponseContent, call: JsonObject, at: number): void {
  const index = 'index' in call ? numberOf(call['index']) : at
  const known = (received.tools[index] ??= { name: '', arguments: '' })
  const called = isObject(call['function']) ? call['function'] : {}
  known.name += textOf(called['name'])
  known.arguments += textOf(called['arguments'])
}
