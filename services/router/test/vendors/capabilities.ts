/**
 * Vendors and capabilities: whether a client's parameter works in front of each vendor. `vendors.test.ts` asks every cell
 * of a strict stand-in, through the router, and finds a wrong one; the page about backends is written from this table.
 */

import { ofEach } from './fixtures.ts'

export const VENDOR_TABLE = ofEach(({ row }) => row)
