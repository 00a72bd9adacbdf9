/**
 * `npm run prove release`: makes a release twice, on two builders, and compares the contents; then the images start from their
 * archives. Root on Linux (Debian and its kin); installs missing programs, saying so.
 */

import { join } from 'node:path'
import { reportFatal } from '@gateway/service/report-fatal'
import { buildBuilders } from '../engine/builder.ts'
import { runInOwnWorld } from '../engine/own-world.ts'
import { ENGINE_PROGRAMS, ensurePrograms } from '../engine/packages.ts'

try {
  await ensurePrograms(ENGINE_PROGRAMS)
  await buildBuilders()
  process.exitCode = await runInOwnWorld(join(import.meta.dirname, 'prove.ts'), [])
} catch (error) {
  reportFatal(error)
}
