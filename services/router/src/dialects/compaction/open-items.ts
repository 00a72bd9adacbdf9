/**
 * Compaction items that the gateway sealed, as the texts that they hold. Each becomes a message of the user at its place, for
 * targets of every dialect: no such item reaches a vendor. A vendor's own item stays as it came.
 */

import { type JsonObject, isObject } from '@gateway/contracts/json'
import type { StateSeal } from '../../core/state-seal.ts'

/** The same object where it holds none. */
export function withOpenedCompactions(request: JsonObject, states: StateSeal | undefined): JsonObject {
  if (states === undefined || !Array.isArray(request.input)) return request
  let isChanged = false
  const input = request.input.map((item: unknown, at) => {
    if (!isObject(item) || item.type !== 'compaction' || typeof item.encrypted_content !== 'string') return item
    const summary = states.open('compaction', item.encrypted_content, `input[${at}].encrypted_content`)
    if (summary === null) return item
    isChanged = true
    return messageOf(summary)
  })
  return isChanged ? { ...request, input } : request
}

const INTRODUCTION = 'Summary of the conversation so far, in place of its older part:'

function messageOf(summary: string): JsonObject {
  const text = `${INTRODUCTION}\n\n${summary}`
  return { type: 'message', role: 'user', content: [{ type: 'input_text', text }] }
}
