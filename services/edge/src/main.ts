/**
 * An edge as a process of its own, on NATS and Redis.
 */

import { runService } from '@gateway/service/run-service'
import { loadProcessSettings } from './config.ts'
import { openContext } from './context.ts'
import { startEdge } from './start.ts'

await runService({ name: 'edge', loadSettings: loadProcessSettings, openContext, start: startEdge })
