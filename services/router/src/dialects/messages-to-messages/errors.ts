/**
 * Errors of the Messages API: the bodies of refusals, and the failures that a stream or a 200 reports.
 */

import { BackendFault } from '../../core/backend-fault.ts'
import { readErrorBody } from '../../core/error-response.ts'
import { type JsonObject, isObject, membersOf, wordOf } from '@gateway/contracts/json'

/** `{"type":"error","error":{"type","message"}}` as OpenAI writes it; null where it holds no object. */
export function readMessagesError(body: string): string | null {
  const said = readErrorBody(body)
  if (said === null) return null
  return isObject(said.error) ? asOpenAi(said.error) : body
}

function asOpenAi({ type, message, details }: JsonObject): string {
  const { error_code: code = null } = membersOf(details)
  return JSON.stringify({ error: { message, type, param: null, code } })
}

const ERROR_STATUS = new Map(
  Object.entries<number>({
    invalid_request_error: 400,
    authentication_error: 401,
    billing_error: 402,
    permission_error: 403,
    not_found_error: 404,
    request_too_large: 413,
    rate_limit_error: 429,
    api_error: 500,
    timeout_error: 504,
    overloaded_error: 529,
  }),
)

/** Reads an event that is named `error`. A proxy in front of the API may write one that is no JSON. */
export function errorMessageOf(data: string): JsonObject {
  return readErrorBody(data) ?? { error: { message: data } }
}

/** The failure in an `error` event, or in an error body under a 200. */
export function faultOf(event: JsonObject): BackendFault {
  const error = membersOf(event.error)
  const status = ERROR_STATUS.get(wordOf(error.type)) ?? 500
  return new BackendFault('error_event', 'the backend reported an error inside its answer', {
    status,
    body: asOpenAi(error),
    own: { status, body: JSON.stringify({ type: 'error', error }) },
  })
}
