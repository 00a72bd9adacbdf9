/**
 * Each recorded response of a vendor goes through the router. It comes out as a complete record of the contract, with the
 * vendor's text, calls and count.
 */

import { VENDORS, type Vendor } from '@gateway/contracts/vendors'
import { describe, expect, test } from 'vitest'
import { openStream, type Reply } from '../http-backend.ts'
import { backend, router } from '../open.ts'
import { poolOver } from '../router-under-test.ts'
import { assembledPlain, assembledStream } from './assembled.ts'
import { bytesOf, RECORDED, type Recorded } from './recorded.ts'

const isStream = ({ file }: Recorded) => file.endsWith('.sse')

/** The bytes in pieces of one length, so that no event arrives whole. */
const responding = (recorded: Recorded, pieceBytes: number): Reply => {
  return async (response) => {
    const bytes = Buffer.from(bytesOf(recorded))
    if (!isStream(recorded)) {
      response.writeHead(200, { 'content-type': 'application/json' })
      return response.end(bytes)
    }
    openStream(response)
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      response.write(bytes.subarray(at, at + pieceBytes))
      await new Promise(setImmediate)
    }
    return response.end()
  }
}

test.each(Object.keys(VENDORS) as Vendor[])('%s has a recorded response and a recorded stream', (vendor) => {
  const streams = RECORDED.filter((one) => one.vendor === vendor).map(isStream)
  expect(new Set(streams)).toEqual(new Set([true, false]))
})

describe('a recorded response comes out complete', () => {
  test.for(RECORDED)('$vendor, $file ($source)', async (recorded) => {
    const stream = isStream(recorded)
    for (const pieceBytes of [7, 1_000_000]) {
      const a = await backend(responding(recorded, pieceBytes))
      const under = await router(
        poolOver([a.url], { backend: { vendor: recorded.vendor, apiKey: 'key', timeouts: {} } }),
      )
      const job = await under.sendRequest({ stream, includeUsage: stream })
      expect(job.failure).toBeNull()
      const received = (stream ? assembledStream : assembledPlain)(job.text())
      expect(received).toMatchObject({ text: recorded.text ?? '', reasoning: recorded.reasoning ?? received.reasoning })
      expect(received.calls).toMatchObject(recorded.calls ?? [])
      expect(received.calls).toHaveLength(recorded.calls?.length ?? 0)
      expect(received.finishReason).toBe(recorded.finishReason)
      const { usage } = job.end!
      expect(usage).toMatchObject(recorded.usage ?? { estimated: true })
      expect(usage.estimated).toBe(recorded.usage === null)
      // The client reads the same figures as the ledger.
      const { promptTokens, completionTokens, reasoningTokens, cachedTokens } = usage
      expect(received.usage).toMatchObject({
        prompt_tokens: promptTokens,
        completion_tokens: completionTokens,
        total_tokens: promptTokens + completionTokens,
        ...(reasoningTokens > 0 ? { completion_tokens_details: { reasoning_tokens: reasoningTokens } } : {}),
        ...(cachedTokens > 0 ? { prompt_tokens_details: { cached_tokens: cachedTokens } } : {}),
      })
    }
  })
})
