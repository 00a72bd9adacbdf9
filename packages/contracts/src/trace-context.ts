/**
 * W3C trace context as messages carry it: whose child the receiver's span is, and whether the trace is recorded.
 */

import * as z from 'zod'

/** `00-<trace id>-<span id>-<flags>` */
export const traceparent = z.string().regex(/^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/)
