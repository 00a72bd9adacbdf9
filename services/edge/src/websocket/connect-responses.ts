/**
 * `GET /v1/responses`: Responses over WebSocket. Without an upgrade the response says which one is missing. A client behind a
 * proxy that passes no upgrade on goes back to HTTP at once.
 */

import type { Handler } from '../http/handler.ts'
import type { ResponseSockets } from './response-sockets.ts'

export function connectResponses({ sockets }: { sockets: Pick<ResponseSockets, 'accept'> }): Handler<'key'> {
  return (request, response, caller) => sockets.accept(request, response, caller)
}
