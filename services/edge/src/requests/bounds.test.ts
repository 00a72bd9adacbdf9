/**
 * Lists of a request have a bound, and the refusal names the list and its bound. Agents' requests stay far below.
 */

import { loadDefaultConfig } from '@gateway/config/load-config'
import { MOST_MESSAGES, MOST_TOOLS } from '@gateway/contracts/chat'
import { expect, test } from 'vitest'
import { KINDS, type KindName } from './kinds.ts'
import { parseJson } from './parse-json.ts'
import { understand } from './understand.ts'

const { config } = loadDefaultConfig()
const of = <Element>(length: number, element: Element) => Array.from({ length }, () => element)
const SAID = { role: 'user', content: 'x' }
const FUNCTION = { type: 'function', name: 'f', function: { name: 'f' }, input_schema: { type: 'object' } }

const ROWS: [kind: KindName, field: string, most: number, request: (length: number) => object][] = [
  ['chat', 'messages', MOST_MESSAGES, (length) => ({ messages: of(length, SAID) })],
  ['chat', 'tools', MOST_TOOLS, (length) => ({ messages: [SAID], tools: of(length, FUNCTION) })],
  ['messages', 'messages', MOST_MESSAGES, (length) => ({ max_tokens: 9, messages: of(length, SAID) })],
  ['messages', 'tools', MOST_TOOLS, (length) => ({ max_tokens: 9, messages: [SAID], tools: of(length, FUNCTION) })],
  ['responses', 'input', MOST_MESSAGES, (length) => ({ input: of(length, SAID) })],
  ['responses', 'tools', MOST_TOOLS, (length) => ({ input: 'x', tools: of(length, FUNCTION) })],
]

function refusalOf(kind: KindName, request: object): string | null {
  const body = { model: 'svc-core', ...request }
  try {
    understand(config, KINDS[kind], parseJson(Buffer.from(JSON.stringify(body))))
    return null
  } catch (error) {
    return (error as Error).message
  }
}

test.each(ROWS)('%s: %s have a bound, and one more is refused by its name', (kind, field, most, request) => {
  expect(refusalOf(kind, request(most))).toBeNull()
  expect(refusalOf(kind, request(most + 1))).toBe(`${field}: must have at most ${most} elements`)
})
