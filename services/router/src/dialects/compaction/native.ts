/**
 * `/responses/compact` of a vendor that has it: bytes travel untouched, and the vendor's own item comes back. The vendor
 * takes no cap there.
 */

import { objectsOf } from '@gateway/contracts/json'
import { readUsage } from '../../core/chat-chunk.ts'
import type { Dialect } from '../dialect.ts'
import { parseResponse, responsesToResponses } from '../responses-to-responses.ts'
import { noSummary } from './response.ts'

export const compactionAtVendor: Dialect = {
  ...responsesToResponses,
  request: (clientRequest) => ({
    ...responsesToResponses.request({ ...clientRequest, stream: false, maxTokens: undefined }),
    path: '/responses/compact',
  }),
  readBackendResponse(_, bytes) {
    const json = parseResponse(bytes)
    const isCompacted = objectsOf(json.output).some((item) => typeof item.encrypted_content === 'string')
    if (!isCompacted) throw noSummary('it has no compaction item')
    return { bytes, json, usage: readUsage(json.usage) }
  },
}
