/**
 * Enums that a message may extend. A reader keeps a value that only a newer version knows as text, so no message is lost
 * for one word. The compiler holds writers to the known values.
 */

import * as z from 'zod'

declare const newer: unique symbol
/** Text that only a newer version knows. */
type Newer = string & { readonly [newer]: true }

export function openEnum<Known extends string>(known: readonly Known[]): z.ZodType<Known | Newer, Known | Newer> {
  return z.string().meta({ known }) as unknown as z.ZodType<Known | Newer, Known | Newer>
}
