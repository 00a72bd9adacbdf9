/**
 * Reads the sentence and the field of a backend's error body, whichever of the usual shapes it has.
 */

import { membersOf } from './json.ts'

/** Returns null when it says nothing. */
export function refusalSentence(body: string | undefined): string | null {
  const said = membersOf(parse(body))
  const { error, message, detail } = said
  const sentences = [membersOf(error).message, error, message, detail]
  const sentence = sentences.find((text): text is string => typeof text === 'string' && text !== '')
  return sentence ?? listed(detail) ?? listed(membersOf(message).detail)
}

/** The field that an error body in OpenAI's shape names. */
export function refusedField(body: string | undefined): string | undefined {
  const { param } = membersOf(membersOf(parse(body)).error)
  return typeof param === 'string' ? param : undefined
}

/** FastAPI's and Mistral's: `[{ loc: ['body', 'stop'], msg }]`. */
function listed(details: unknown): string | null {
  if (!Array.isArray(details)) return null
  const sentences = details.map(membersOf).flatMap(({ loc, msg }) => {
    if (!Array.isArray(loc) || typeof msg !== 'string') return []
    return [`${loc.filter((step, at) => at > 0 || step !== 'body').join('.')}: ${msg}`]
  })
  return sentences.length > 0 ? sentences.slice(0, MOST_LISTED).join('; ') : null
}

const MOST_LISTED = 5

function parse(text: string | undefined): unknown {
  try {
    return text ? JSON.parse(text) : null
  } catch {
    return null
  }
}
