/**
 * Metering as a process of its own, on NATS, Redis and PostgreSQL.
 */

import { isThere } from '@gateway/postgres/database'
import { runService } from '@gateway/service/run-service'
import { loadSettings } from './config.ts'
import { openContext } from './context.ts'
import { startMetering } from './start.ts'

await runService({
  name: 'metering',
  loadSettings,
  openContext,
  start: startMetering,
  checks: ({ database }) => ({ database: () => isThere(database) }),
})
