/**
 * Metering as a process of its own, on NATS, Redis and PostgreSQL.
 */

import { runService } from '@gateway/service/run-service'
import { loadSettings } from './config.ts'
import { openContext } from './context.ts'
import { startMetering } from './start.ts'

await runService({
  name: 'metering',
  loadSettings,
  openContext,
  start: startMetering,
  checks: ({ database }) => ({ database: () => database.query('select').then(() => true) }),
})
