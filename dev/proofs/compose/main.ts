/**
 * `npm run prove compose`: brings the compose file up on a container engine of its own with the images of a release, tries it,
 * and takes it down. Installs missing programs, saying so. Root on Linux (Debian and its kin); Go and npm reach their
 * registries.
 */

import { join } from 'node:path'
import { reportFatal } from '@gateway/service/report-fatal'
import { buildBuilders } from '../engine/builder.ts'
import { runInOwnWorld } from '../engine/own-world.ts'
import { ENGINE_PROGRAMS, ensurePrograms } from '../engine/packages.ts'

try {
  await ensurePrograms(ENGINE_PROGRAMS)
  await buildBuilders()
  process.exitCode = await runInOwnWorld(join(import.meta.dirname, 'prove.ts'), process.argv.slice(2))
} catch (error) {
  reportFatal(error)
}
