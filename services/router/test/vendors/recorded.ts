/**
 * Responses in the form of each vendor: `recorded/` holds their bytes, each vendor's fixture the source of the form and the
 * meaning. Members, order, chunks and counts are those that the source shows. The texts and ids in them are our own.
 */

import { readFileSync } from 'node:fs'
import type { Vendor } from '@gateway/contracts/vendors'
import type { RecordedReply } from './fixture.ts'
import { FIXTURES, vendors } from './fixtures.ts'

export interface Recorded extends RecordedReply {
  vendor: Vendor
}

export const RECORDED: Recorded[] = vendors.flatMap((vendor) =>
  FIXTURES[vendor].recorded.map((recorded) => ({ ...recorded, vendor })),
)

export const bytesOf = ({ file }: Recorded): string =>
  readFileSync(new URL(`recorded/${file}`, import.meta.url), 'utf8')
