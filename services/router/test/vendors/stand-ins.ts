/**
 * A strict stand-in for each vendor: its address, header names and authentication, the parameters that it refuses beyond
 * its description (`schemas.ts`), and its errors (`error-bodies.ts`). A parameter that the vendor ignores without a word
 * must not arrive: the router is at fault. Sources are those of each fixture's row; the rest is assumed.
 */

import type { Vendor } from '@gateway/contracts/vendors'
import type { OutgoingHttpHeaders } from 'node:http'
import { goodChat, type Reply } from '../http-backend.ts'
import { VENDOR_ERRORS } from './error-bodies.ts'
import type { StandInSettings, VendorError } from './fixture.ts'
import { ofEach } from './fixtures.ts'
import { AWS_IDENTITY, bearer, KEY, TOKEN } from './stand-in-credentials.ts'
import { STREAM_BEHAVIOURS, streamOf } from './stream-behaviour.ts'

export type StandIn = Required<Omit<StandInSettings, 'judge'>>

export const STAND_INS = ofEach(({ standIn }, vendor): StandIn => {
  const { judge, ...settings } = standIn
  return { base: '/v1', complaint: bearer, reply: streamingAs(vendor, judge), ignores: [], ...settings }
})

/** The vendor's response to another credential than the router's, which some of them repeat. */
export function refusalOf(vendor: Vendor): VendorError {
  const keys: Partial<Record<Vendor, string>> = { vertex: TOKEN, bedrock: AWS_IDENTITY.sessionToken! }
  const errors = VENDOR_ERRORS[vendor]({ key: keys[vendor] ?? KEY, model: STAND_INS[vendor].model })
  return errors['bad credential'] ?? { status: 401, body: { error: 'Unauthorized' }, source: 'assumed' }
}

/** A stream that the judge accepts has the vendor's behaviour. */
function streamingAs(vendor: Vendor, judge: Reply = goodChat): Reply {
  return (response, request, socket) => {
    if (request.body['stream'] !== true) return judge(response, request, socket)
    const { writeHead, end } = response
    let isAccepted = false
    response.writeHead = ((status: number, headers: OutgoingHttpHeaders) => {
      isAccepted = status === 200
      return writeHead.call(response, status, headers)
    }) as typeof writeHead
    const events = streamOf(STREAM_BEHAVIOURS[vendor], 'stream_options' in request.body).join('')
    response.end = ((words: string) => end.call(response, isAccepted ? events : words, 'utf8')) as typeof end
    return judge(response, request, socket)
  }
}
