/**
 * The forms of bodies that calls take: JSON, or YAML as the file that it is. The refusal of any other form names one to send.
 */

import type { IncomingMessage } from 'node:http'
import { GatewayError } from '@gateway/contracts/errors'
import { type BodyBytes, invalid, parseJson } from '../requests/parse-json.ts'

const JSON_TYPE = 'application/json'

export interface BodyForm {
  mediaType: string
  accepts(mediaType: string): boolean
  parse(body: BodyBytes): unknown
}

export const JSON_FORM: BodyForm = {
  mediaType: JSON_TYPE,
  accepts: (type) => type === JSON_TYPE || type.endsWith('+json'),
  parse: ({ length, bytes }) => (length === 0 ? {} : parseJson(bytes)),
}

/** The bytes of JSON: its signature is proven before anybody parses it. */
export const SIGNED_FORM: BodyForm = { ...JSON_FORM, parse: ({ bytes }) => bytes }

const YAML_TYPES = new Set(['application/yaml', 'application/x-yaml', 'text/yaml', 'text/x-yaml', 'text/plain'])
export const YAML_FORM: BodyForm = {
  mediaType: 'application/yaml',
  accepts: (type) => YAML_TYPES.has(type),
  parse: ({ bytes }) => readText(bytes),
}

function readText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw invalid('body: is not UTF-8', cause)
  }
}

const CHARSET = /;\s*charset\s*=\s*"?([^\s";]+)/i

/** Bytes of another encoding than UTF-8 could hide their shape. */
export function refuseOtherTypes({ headers }: IncomingMessage, form: BodyForm): void {
  const { 'content-type': type = '' } = headers
  if (type === form.mediaType) return
  const mediaType = type.split(';', 1)[0]!.trim().toLowerCase()
  if (!form.accepts(mediaType)) throw unsupported(`content-type ${form.mediaType}`)
  const charset = CHARSET.exec(type)?.[1] ?? 'utf-8'
  if (charset.toLowerCase() !== 'utf-8') throw unsupported('UTF-8')
}

export function unsupported(instead: string): GatewayError {
  return new GatewayError('UNSUPPORTED_MEDIA_TYPE', `Send the body as ${instead}`)
}
