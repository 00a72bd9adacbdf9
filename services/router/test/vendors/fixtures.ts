/** All vendors' fixtures: one file in `fixtures/` for each vendor that the config can name. */

import { VENDORS, type Vendor } from '@gateway/contracts/vendors'
import type { VendorFixture } from './fixture.ts'

export const vendors = Object.keys(VENDORS) as Vendor[]

const loaded = vendors.map(async (vendor) => {
  const { fixture } = (await import(`./fixtures/${fileOf(vendor)}.ts`)) as { fixture: VendorFixture }
  return [vendor, fixture] as const
})

export const FIXTURES = Object.fromEntries(await Promise.all(loaded)) as Record<Vendor, VendorFixture>

/** The vendor's name in names of files. */
export function fileOf(vendor: Vendor): string {
  return vendor.replace('.', '-')
}

/** A table by vendor. */
export function ofEach<Row>(rowOf: (fixture: VendorFixture, vendor: Vendor) => Row): Record<Vendor, Row> {
  return Object.fromEntries(vendors.map((vendor) => [vendor, rowOf(FIXTURES[vendor], vendor)])) as Record<Vendor, Row>
}
