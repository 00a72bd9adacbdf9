/**
 * `npm run prove kubernetes`: runs the chart on a cluster. `-- --context <name>`: on that one; otherwise `own-cluster/`
 * builds one. `options.ts` has the other arguments.
 */

import { join } from 'node:path'
import { reportFatal } from '@gateway/service/report-fatal'
import { versionOf } from '../../../scripts/release/versions.ts'
import { readOptions } from './options.ts'

try {
  const options = readOptions(process.argv.slice(2), versionOf(join(import.meta.dirname, '../../..')))
  if (options.kind === 'own cluster') {
    const { proveOnOwnCluster } = await import('./own-cluster/build.ts')
    process.exitCode = await proveOnOwnCluster(options)
  } else {
    const { proveOnGivenCluster } = await import('./given-cluster.ts')
    process.exitCode = await proveOnGivenCluster(options)
  }
} catch (error) {
  reportFatal(error)
}
