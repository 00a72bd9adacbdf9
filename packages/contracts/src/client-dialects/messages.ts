/** Anthropic's Messages API. */

import { additions, type ErrorLinks, messageOf } from '../error-bodies.ts'
import { ERROR_STATUS, type ErrorCode, type PublicError } from '../errors.ts'
import type { HostedTool } from '../hosted-tools.ts'
import { fillTargetBody } from '../target-error.ts'
import { type ClientProfile, eventOf } from './profile.ts'

const PING = 'event: ping\ndata: {"type": "ping"}\n\n'

/**
 * The client runs these by the types of `@anthropic-ai/sdk` 1.12 (2026). Anthropic writes the version behind the name:
 * `bash_20250124`.
 */
const VERSIONED_OWN = /^(?:bash|text_editor|computer|computer_toolset|browser_toolset|memory)_\d{8}$/
const VERSIONED: readonly [RegExp, HostedTool][] = [
  [/^web_search_\d{8}$/, 'web_search'],
  [/^web_fetch_\d{8}$/, 'web_fetch'],
]

export const messages: ClientProfile = {
  resource: 'messages',
  responseIdPrefix: 'msg_',
  errorBody: (error, links, { requestId }) => errorBody(error, links, requestId),
  showsTargetError: true,
  errorSchemas: () => ['MessagesError'],
  stream: {
    keepAlive: PING,
    done: '',
    terminalEvents: ['message_stop'],
    failure: (error, { requestId }) => eventOf('error', errorBody(error, undefined, requestId)),
  },
  hostedTools: {
    isOwn: (type) => type === 'custom' || VERSIONED_OWN.test(type),
    nameOf: (type) => VERSIONED.find(([form]) => form.test(type))?.[1],
    members: ['mcp_servers', 'container'],
    limit: { of: 'entry', member: 'max_uses' },
  },
}

/** Anthropic's words for statuses. */
const TYPES: Record<(typeof ERROR_STATUS)[ErrorCode], string> & Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  405: 'invalid_request_error',
  408: 'timeout_error',
  409: 'invalid_request_error',
  413: 'request_too_large',
  415: 'invalid_request_error',
  426: 'invalid_request_error',
  429: 'rate_limit_error',
  500: 'api_error',
  503: 'overloaded_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

function typeOf(status: number): string {
  return TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
}

/** Anthropic's shape, with our code and its additions beside the message. An event of a stream carries the same. */
function errorBody(error: PublicError, links?: ErrorLinks, requestId?: string): object {
  const { code, details } = error
  const limit = details.type === undefined ? {} : { limit: details.type }
  const type = typeOf(details.target?.status ?? ERROR_STATUS[code])
  const more = links ? additions(error, links) : {}
  const ofTarget = details.refusal && { code: details.refusal.code, param: details.refusal.param, gateway_code: code }
  const said = { type, message: messageOf(error), code, ...limit, ...more, ...ofTarget }
  const ours = { type: 'error', error: said, request_id: requestId ?? null }
  if (details.target?.body === undefined) return ours
  return fillTargetBody(details.target.body, ours, code, details.refusal && error.message)
}
