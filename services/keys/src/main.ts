/**
 * Keys as a process of its own, on NATS, Redis and PostgreSQL.
 */

import { isThere } from '@gateway/postgres/database'
import { runService } from '@gateway/service/run-service'
import { loadSettings } from './config.ts'
import { openContext } from './context.ts'
import { startKeys } from './start.ts'

await runService({
  name: 'keys',
  loadSettings,
  openContext,
  start: startKeys,
  checks: ({ database }) => ({ database: () => isThere(database) }),
})
