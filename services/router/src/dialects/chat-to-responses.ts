/**
 * Clients of chat in front of a backend that speaks the Responses API alone. Requests are translated from chat completions,
 * responses into them; nothing is stored at the backend.
 *
 * A parameter without a counterpart (`seed`, penalties, `logit_bias`) is left out and named to the client. One whose loss
 * would change the response (`stop`, more than one choice, audio) is refused.
 */

import { generatedTextOf, withUsage } from '../core/plain-response.ts'
import { readResponse } from './chat-to-responses/response.ts'
import { writeResponsesRequest } from './chat-to-responses/request.ts'
import { ResponsesToChatStream } from './chat-to-responses/stream.ts'
import type { ChatDialect } from './dialect.ts'
import { responsesToResponses } from './responses-to-responses.ts'

export const chatToResponses: ChatDialect = {
  headers: responsesToResponses.headers,
  request: (clientRequest) => ({ path: '/responses', ...writeResponsesRequest(clientRequest) }),
  readBackendResponse: (_, bytes, identity) => readResponse(bytes, identity),
  textOf: generatedTextOf,
  withUsage: ({ bytes, json }, usage, kind) => withUsage(bytes, json, usage, kind),
  readStream: ({ identity }) => new ResponsesToChatStream(identity),
  readErrorBody: responsesToResponses.readErrorBody,
}
