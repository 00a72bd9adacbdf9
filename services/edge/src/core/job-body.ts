/**
 * The body of a job: the client's object without what the router writes itself (see `contracts/job.ts`).
 *
 * A cap of null is left out, too. The router writes the lane's cap in front of such a body, and servers take the last of two.
 */

export function jobBody(request: Record<string, unknown>): Uint8Array {
  const { model: _model, stream: _stream, stream_options: _options, encoding_format: _format, ...rest } = request
  if (rest.max_tokens === null) delete rest.max_tokens
  if (rest.max_completion_tokens === null) delete rest.max_completion_tokens
  return Buffer.from(JSON.stringify(rest))
}
