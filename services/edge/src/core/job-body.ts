/**
 * The body of a job: the client's object without what the router writes itself (see `contracts/job.ts`).
 *
 * A null says nothing, and some servers refuse it (SGLang 0.5.23), so it is left out, too.
 */

export function jobBody(request: Record<string, unknown>): Uint8Array {
  const { model: _model, stream: _stream, stream_options: _options, encoding_format: _format, ...rest } = request
  const said = Object.entries(rest).filter(([, value]) => value !== null)
  return Buffer.from(JSON.stringify(Object.fromEntries(said)))
}
