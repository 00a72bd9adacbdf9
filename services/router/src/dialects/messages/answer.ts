/**
 * A whole answer of the Messages API.
 */

import { parseExactly } from '@gateway/contracts/exact-json'
import { addText, noText } from '../../core/generated-text.ts'
import { invalid, parseObject, type JsonObject } from '../../core/plain-answer.ts'
import { isObject } from '../../core/read-usage.ts'
import { faultOf } from './errors.ts'

export function parseMessage(bytes: Buffer): JsonObject {
  const value = parseObject(bytes, parseExactly)
  if (value.type === 'error' || isObject(value.error)) throw faultOf(value)
  if (!Array.isArray(value.content) || value.stop_reason == null) throw invalid('the answer is no finished message')
  return value
}

/** All that was generated, for counting tokens where the backend did not. */
export function textOfMessage({ content }: JsonObject): string {
  const text = noText()
  for (const block of (content as unknown[]).filter(isObject)) {
    for (const field of ['text', 'thinking', 'name']) if (typeof block[field] === 'string') addText(text, block[field])
    if (isObject(block.input)) addText(text, JSON.stringify(block.input))
  }
  return text.kept
}
