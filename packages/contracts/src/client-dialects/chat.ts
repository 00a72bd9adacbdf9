/** OpenAI's chat completions. */

import { additions, type BodyReader, type ErrorLinks, messageOf, openAiErrorBody } from '../error-bodies.ts'
import { type GatewayError, isFlat, type PublicError } from '../errors.ts'
import { type ClientProfile, COMMENT, DONE } from './profile.ts'

/** By the types of `openai` 7.55 (2026): its client executes these. */
const OWN_TOOLS: ReadonlySet<string> = new Set(['function', 'custom'])

export const chat: ClientProfile = {
  resource: 'chat',
  responseIdPrefix: 'chatcmpl-',
  errorBody,
  errorSchemas(code) {
    if (code === 'rate_limit_exceeded') return ['RateLimitError']
    if (code === 'quota_exceeded') return ['QuotaError']
    return isFlat(code) ? ['FlatError', 'NestedError'] : ['NestedError']
  },
  stream: { keepAlive: COMMENT, done: DONE, terminalEvents: [], failure },
  hostedTools: {
    isOwn: (type) => OWN_TOOLS.has(type),
    nameOf: () => undefined,
    members: [
      ...['web_search_options', 'search_parameters', 'enable_search', 'search_options', 'web_search'],
      ...['plugins', 'preset'],
    ],
  },
}

function failure({ message, code }: GatewayError): string {
  return `data: ${JSON.stringify({ error: { message, type: 'server_error', code } })}\n\n`
}

/** The contract's two shapes. */
function errorBody(error: PublicError, links: ErrorLinks, { isNested = false }: BodyReader): object {
  const { code, details, message } = error
  switch (code) {
    case 'rate_limit_exceeded':
      return { error: { code, type: details.type ?? 'requests', message, ...additions(error, links) } }
    case 'quota_exceeded':
      return { error: { code, message, ...additions(error, links) } }
    default:
      if (isNested || !isFlat(code) || details.refusal) return openAiErrorBody(error, links)
      if (code === 'INVALID_TOKEN') return { error: messageOf(error), code }
      return { error: messageOf(error), code, ...additions(error, links) }
  }
}
