/**
 * The API server and the chart, in a world of its own.
 */

import { step, tableOfSteps } from '../../engine/steps.ts'
import { clusterTools } from '../cluster-tools.ts'
import { startApi } from './control-plane.ts'
import { openFirstHost, openMachine } from './host.ts'
import { readPlan } from './plan.ts'
import { defineOperatorsKinds, proveReleases } from '../release-steps.ts'

try {
  const { kubernetes, logs } = readPlan()
  const state = await openMachine()
  await openFirstHost()
  await using controlPlane = await step('etcd and API server', () =>
    startApi({ programs: kubernetes, logs, state }, []),
  )
  const tools = clusterTools(controlPlane)
  await defineOperatorsKinds(tools)
  await proveReleases(tools)
} catch (error) {
  process.exitCode = 1
  console.error(error)
} finally {
  console.log(tableOfSteps())
}
