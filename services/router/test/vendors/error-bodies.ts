/**
 * The errors of each vendor in its own words. `errors.test.ts` holds the router to the consequence of each, and the page about
 * backends is written from this table.
 */

import type { ErrorCase } from './fixture.ts'
import { ofEach } from './fixtures.ts'

export const VENDOR_ERRORS = ofEach(({ errors }) => errors)

/** The router's reaction to each. `errors.test.ts` shows it for each vendor. */
export const HANDLING: Record<ErrorCase, string> = {
  'bad credential': 'next target',
  'no such model': 'next target',
  'content filter': 'refused and said',
  'prompt too long': 'larger target, or refused and said',
  'rate limit': 'next target',
  'unpaid or out of quota': 'next target',
  overload: 'next target',
}
