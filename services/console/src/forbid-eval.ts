/**
 * The page's policy forbids code from strings, by which schemas would be compiled when they are made. Hence the first
 * import of all.
 */

import * as z from 'zod'

z.config({ jitless: true })
