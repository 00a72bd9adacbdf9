/**
 * The form in which the router requests images of a target: base64 and PNG, which the contract promises for every form
 * that the client wrote.
 *
 * Two parameters say so, and no server surely takes both. OpenAI's `dall-e` models know `response_format` alone, and
 * without it they return addresses. Its GPT image models know `output_format` alone, always return base64, and refuse
 * the other one. For other names the router cannot know. It sends such targets both until they refuse one
 * (`core/parameter-support.ts`).
 */

import { parseExactly } from '@gateway/contracts/json'
import { OWN_OF_IMAGES } from './parameter-names.ts'
import { refuses, type ParameterSupport } from './parameter-support.ts'

const FORM = { response_format: 'b64_json', output_format: 'png' } as const
/** Options by which a client could change the form of the response. The edge refuses all values but those that change none. */
const FORM_OPTIONS = new Set<string>([...OWN_OF_IMAGES, 'model', 'stream', 'stream_options', 'partial_images'])

/** The request that a backend gets. */
export function writeImagesBody(body: Buffer, model: string, form: ParameterSupport): string {
  const taken = OWN_OF_IMAGES.filter((name) => !refuses(form, name))
  const requested = Object.fromEntries(taken.map((name) => [name, FORM[name]]))
  return JSON.stringify({ model, ...requested, ...clientsOptions(body) })
}

function clientsOptions(body: Buffer): Record<string, unknown> {
  const options = parseExactly(body.toString('utf8')) as object
  return Object.fromEntries(Object.entries(options).filter(([name]) => !FORM_OPTIONS.has(name)))
}
