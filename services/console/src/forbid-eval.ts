/**
 * Keeps zod from compiling schemas with `eval`, which the page's policy forbids. It must be the first import, since zod
 * compiles a schema when it is created.
 */

import * as z from 'zod'

z.config({ jitless: true })
