/**
 * `npm start`: the whole gateway in one process on embedded parts.
 */

import { reportFatal } from '@gateway/service/report-fatal'
import { stopSignal } from '@gateway/service/stop-signal'
import { announceReady } from './announce-ready.ts'
import { loadSettings } from './config.ts'
import { startStandalone } from './start.ts'

try {
  const stopped = stopSignal()
  const settings = loadSettings(process.env)
  await using gateway = await startStandalone(settings)
  announceReady(gateway, settings)
  await stopped
} catch (error) {
  reportFatal(error)
}
