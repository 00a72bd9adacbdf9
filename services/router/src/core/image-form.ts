/**
 * In which form a target is asked for images: base64 and PNG, which the contract promises, whatever the client wrote.
 *
 * Two parameters say so, and no server takes both for sure. OpenAI's `dall-e` models know `response_format` alone (without
 * it they answer addresses), its GPT image models `output_format` alone (they always answer base64), and refuse the other
 * one (the official SDK's types of `images.generate`, 7.55, of 2026). Of other names nobody can tell, so such targets are
 * asked with both. The router leaves out the parameter that a refusal names from then on.
 */

import { isObject } from './read-usage.ts'

const FORM = { response_format: 'b64_json', output_format: 'png' } as const
export type FormParameter = keyof typeof FORM
export type ImageForm = readonly FormParameter[]

const PARAMETERS = Object.keys(FORM) as FormParameter[]
/** Options by which a client could change the form of the answer. The edge refuses all values but those that change none. */
const FORM_OPTIONS = new Set<string>([...PARAMETERS, 'model', 'stream', 'stream_options', 'partial_images'])

export function formForModel(model: string): ImageForm {
  if (/(?:^|\/)(?:gpt-image|chatgpt-image)/i.test(model)) return ['output_format']
  if (/(?:^|\/)dall-?e/i.test(model)) return ['response_format']
  return PARAMETERS
}

/** The request that a backend gets. */
export function writeImagesBody(body: Uint8Array, model: string, form: ImageForm): string {
  const asked = Object.fromEntries(form.map((name) => [name, FORM[name]]))
  return JSON.stringify({ model, ...asked, ...clientsOptions(body) })
}

function clientsOptions(body: Uint8Array): Record<string, unknown> {
  const options = JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')) as object
  return Object.fromEntries(Object.entries(options).filter(([name]) => !FORM_OPTIONS.has(name)))
}

/** The parameters of ours that a refusal names. A name that the client wrote itself may be a mere quotation. */
export function refusedParameters(refusal: string, body: Uint8Array): FormParameter[] {
  const named = namedParameters(refusal)
  const quoted = JSON.stringify(clientsOptions(body))
  return PARAMETERS.filter((name) => named.includes(name) || (refusal.includes(name) && !quoted.includes(name)))
}

/** `error.param` (OpenAI), `detail[].loc` (FastAPI). */
function namedParameters(refusal: string): unknown[] {
  let said: unknown
  try {
    said = JSON.parse(refusal)
  } catch {
    return []
  }
  if (!isObject(said)) return []
  const details = Array.isArray(said.detail) ? said.detail.filter(isObject) : []
  const places = details.flatMap(({ loc }) => (Array.isArray(loc) ? (loc as unknown[]) : []))
  return isObject(said.error) ? [said.error.param, ...places] : places
}
