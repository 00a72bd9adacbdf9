/**
 * A router as a process of its own, on NATS.
 */

import { runService } from '@gateway/service/run-service'
import { readProcessSettings, type ProcessSettings } from './config.ts'
import { openContext } from './context.ts'
import { startRouter } from './start.ts'

await runService({
  name: 'router',
  loadSettings: readProcessSettings,
  openContext: (settings: ProcessSettings) => openContext(settings, process.env),
  start: startRouter,
})
