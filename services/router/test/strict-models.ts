/**
 * Models that take a request in one form alone, as the vendors' newest do. A Messages server has any set of refusals, in
 * the sentences of the real one, so that a router has to learn them. OpenAI's and Google's addresses have theirs for chat.
 */

import { good } from './dialect-backends.ts'
import { goodChat, sendJson, type Reply } from './http-backend.ts'

type Json = Record<string, unknown>

export interface MessagesRules {
  budget: boolean
  adaptive: boolean
  off: boolean
  forced: boolean
  sampling: boolean
  format: boolean
  /** Of `output_config.effort`; null: it knows no such member. */
  efforts: readonly string[] | null
}

/** Opus 5.5's, and those of all that came after it. */
export const NEWEST_RULES: MessagesRules = {
  budget: false,
  adaptive: true,
  off: false,
  forced: false,
  sampling: false,
  format: true,
  efforts: ['low', 'medium', 'high', 'xhigh', 'max'],
}

const memberOf = (value: unknown, name: string): unknown => (value as Json | undefined)?.[name]

export function complaintOf(rules: MessagesRules, body: Json): string | null {
  const type = memberOf(body.thinking, 'type')
  const { format } = (body.output_config ?? {}) as Json
  const effort = memberOf(body.output_config, 'effort') as string | undefined
  const advice = 'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
  if (type === 'enabled' && !rules.budget) return `"thinking.type.enabled" is not supported for this model. ${advice}`
  if ((type === 'disabled' || type === 'between_tools') && !rules.off)
    return `"thinking.type.${type}" is not supported for this model. ${advice}`
  if (type === 'adaptive' && !rules.adaptive) return 'adaptive thinking is not supported on this model'
  if (['any', 'tool'].includes(String(memberOf(body.tool_choice, 'type'))) && !rules.forced)
    return 'tool_choice: type "tool" and "any" are not supported for this model.'
  const sampled = rules.sampling ? undefined : ['temperature', 'top_p', 'top_k'].find((name) => name in body)
  if (sampled !== undefined) return `\`${sampled}\` is deprecated for this model.`
  if (format !== undefined && !rules.format) return `'${String(body.model)}' does not support output format.`
  if (effort === undefined) return null
  if (rules.efforts === null) return 'This model does not support the effort parameter.'
  if (rules.efforts.includes(effort)) return null
  return `This model does not support effort level '${effort}'. Supported levels: ${rules.efforts.join(', ')}.`
}

export function strictMessages(rules: MessagesRules): Reply {
  return (response, request, socket) => {
    const message = complaintOf(rules, request.body)
    if (message === null) return good('messages')(response, request, socket)
    return sendJson(response, 400, { type: 'error', error: { type: 'invalid_request_error', message } })
  }
}

function effortIn({ reasoning_effort: effort }: Json): string | null {
  return typeof effort === 'string' ? effort : null
}

/** An address of OpenAI's whose model takes these efforts, and no sampling while it thinks. */
export function strictOpenAi(efforts: readonly string[]): Reply {
  return (response, request, socket) => {
    const { model } = request.body
    const effort = effortIn(request.body)
    const refuse = (param: string, code: string, message: string) =>
      sendJson(response, 400, { error: { message, type: 'invalid_request_error', param, code } })
    const list = efforts.map((one) => `'${one}'`).join(', ')
    if (effort !== null && !efforts.includes(effort))
      return refuse(
        'reasoning_effort',
        'unsupported_value',
        `Unsupported value: '${effort}' is not supported with the '${String(model)}' model. Supported values are: ${list}.`,
      )
    const refused = ['max_tokens', ...(effort === 'none' ? [] : ['temperature', 'top_p', 'logprobs', 'top_logprobs'])]
    const name = refused.find((one) => one in request.body)
    if (name === undefined) return goodChat(response, request, socket)
    return refuse(name, 'unsupported_parameter', `Unsupported parameter: '${name}' is not supported with this model.`)
  }
}

/** Google's address, whose model takes these levels. */
export function strictGemini(efforts: readonly string[]): Reply {
  return (response, request, socket) => {
    const effort = effortIn(request.body)
    if (effort === null || efforts.includes(effort)) return goodChat(response, request, socket)
    const message = ['xhigh', 'max'].includes(effort)
      ? `Invalid reasoning_effort: ${effort}. Valid values are: high, low, medium, minimal, none`
      : `Thinking level ${effort.toUpperCase()} is not supported for this model. Please retry with other thinking level.`
    return sendJson(response, 400, [{ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }])
  }
}
