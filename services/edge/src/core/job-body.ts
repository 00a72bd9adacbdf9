/**
 * The body of a job: the client's object without what the router writes itself (see `contracts/job.ts`).
 */

export function jobBody(request: Record<string, unknown>): Uint8Array {
  const { model: _model, stream: _stream, stream_options: _options, encoding_format: _format, ...rest } = request
  return Buffer.from(JSON.stringify(rest))
}
