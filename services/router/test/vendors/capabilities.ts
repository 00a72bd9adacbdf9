/**
 * Vendors and capabilities: the fate of a client's parameter in front of each vendor. `vendors.test.ts` sends every cell to a
 * strict stand-in, through the router, and finds a wrong one; the page about backends is written from this table.
 */

import { ofEach } from './fixtures.ts'

export const VENDOR_TABLE = ofEach(({ row }) => row)
