/**
 * The fault table on the whole system: real processes, real servers, and backends that fail in every way. Processes are
 * killed and frozen at every stage. Each case has the client's view, the backends' view and the metered usage.
 */

import { faultPageSection } from '@gateway/testing/fault-page'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { promiseFailover } from './faults/backends.ts'
import { promiseBroker } from './faults/broker.ts'
import { promiseClients } from './faults/clients.ts'
import { promiseLeavers } from './faults/leavers.ts'
import { promiseRouters } from './faults/routers.ts'
import { startStage, type Stage } from './faults/stage.ts'

const COLUMNS = ['Request', 'What the client sees', 'What the backends see', 'What is metered']

describe('the gateway as a cluster', () => {
  let stage: Stage
  beforeAll(async () => {
    stage = await startStage()
  })
  afterAll(() => stage?.[Symbol.asyncDispose]())

  promiseClients(() => stage)

  const backends = faultPageSection('backends', ['The first backend …', ...COLUMNS])
  promiseFailover(() => stage, backends)
  test('docs/fault-table.md states the observed outcomes of backends, and no more', () => backends.close())

  const processes = faultPageSection('processes', ['What happens', ...COLUMNS])
  promiseBroker(() => stage, processes)
  promiseRouters(() => stage, processes)
  promiseLeavers(() => stage, processes)
  test('docs/fault-table.md states the observed outcomes of processes, and no more', () => processes.close())
})
