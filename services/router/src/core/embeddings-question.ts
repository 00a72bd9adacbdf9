/**
 * What an embeddings request asks for: how many vectors. Backends are always asked for floats, since not all know
 * base64 and a vector must be read to be judged.
 */

export function readEmbeddingsQuestion(body: Uint8Array): { inputs: number; body: Uint8Array } {
  const { encoding_format: format, ...question } = JSON.parse(Buffer.from(body).toString('utf8')) as Record<
    string,
    unknown
  >
  const inputs = Array.isArray(question.input) ? question.input.length : 1
  return { inputs, body: format === undefined ? body : Buffer.from(JSON.stringify(question)) }
}
