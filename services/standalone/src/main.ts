/**
 * `npm start`: the whole gateway in one process on embedded parts.
 */

import { reportFatal } from '@gateway/service/report-fatal'
import { stopSignal } from '@gateway/service/stop-signal'
import { announceReady } from './announce-ready.ts'
import { loadSettings } from './config.ts'
import { startStandalone } from './start.ts'
import { usageAskedFor } from './usage.ts'

try {
  const usage = usageAskedFor(process.argv.slice(2))
  if (usage !== null) {
    process.stdout.write(usage)
    process.exit(0)
  }
  const stopped = stopSignal()
  const settings = loadSettings(process.env)
  await using gateway = await startStandalone(settings)
  announceReady(gateway, settings)
  await stopped
} catch (error) {
  reportFatal(error)
}
