/**
 * The wire of a client dialect, as far as it differs from the others: one profile for each, in the file of its name. The edge
 * reads paths and writes errors and the ends of streams by it, and the router writes ids by it.
 */

import type { BodyReader, ErrorLinks } from '../error-bodies.ts'
import type { ErrorCode, ErrorSchemaName, GatewayError, PublicError } from '../errors.ts'
import type { HostedToolRules } from '../hosted-tools.ts'

export interface ClientProfile {
  /** The resource of a conversation, below `/v1`. */
  resource: string
  responseIdPrefix: string
  errorBody(error: PublicError, links: ErrorLinks, reader: BodyReader): object
  /** The status of a target's own error is the response's. */
  showsTargetError?: true
  /** The bodies that a code can have. */
  errorSchemas(code: ErrorCode): ErrorSchemaName[]
  stream: StreamProfile
  hostedTools: HostedToolRules
}

/** The events that the edge adds to a backend's stream. */
export interface StreamProfile {
  keepAlive: string
  /** The bytes behind the last event of a response that has ended well. */
  done: string
  /** The events that end a good stream, by their names. None: the edge itself writes the end. */
  terminalEvents: readonly string[]
  /** A failure repeats the first event, and has the number after the last one's. */
  isNumbered?: true
  /** The events that end a stream which broke. They never look like a good end. */
  failure(error: GatewayError, stream: BrokenStream): string
}

export interface BrokenStream {
  requestId: string
  /** The data of a numbered stream's first event; null where the client has none. */
  first: unknown
  nextNumber: number
}

export const COMMENT = ': keep-alive\n\n'
export const DONE = 'data: [DONE]\n\n'

export function eventOf(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
}
