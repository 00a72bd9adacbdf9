/**
 * Reads the JSON of an error that a backend wrote. Gemini and some proxies put the error into a list.
 */

/** Null where the text is no object or list, or cannot be read. */
export function readErrorBody(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return null
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) ? value[0] : value
  } catch {
    return null
  }
}

export function isText(value: unknown): value is string {
  return typeof value === 'string'
}
