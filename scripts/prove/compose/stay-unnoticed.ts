/**
 * Servers that are killed, replaced and cut off while clients ask without a pause. No answer fails that need not fail, and the
 * ledger is exact afterwards.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { newDeveloper } from '../../../tests/promises/gateway.ts'
import { startLoad, type Load, type Outcome } from '../../../tests/promises/load.ts'
import { docker } from '../engine/engine.ts'
import { proveLedger } from '../engine/ledger.ts'
import { expectNoFailure, outcomesDuring } from '../engine/outcomes.ts'
import { step } from '../engine/steps.ts'
import { NETWORK, type Project } from './project.ts'
import { GATEWAY, MODEL, putOnPlan } from './tour.ts'

const CLIENTS = 6
const CUT_OFF_MS = 20_000
const SETTLE_MS = 5_000

/** Each on an account of its own, under a plan whose limits it does not reach. */
export async function startClients(project: Project, version: string): Promise<Load> {
  const keys: string[] = []
  for (let count = 0; count < CLIENTS; count++) {
    const { key } = await newDeveloper(GATEWAY)
    await putOnPlan(project, version, key)
    keys.push(key)
  }
  const load = startLoad(GATEWAY, keys, { model: MODEL, clients: CLIENTS })
  await step('load', async () => expectNoFailure(await outcomesDuring(load, () => delay(2 * SETTLE_MS))))
  return load
}

export async function stayUnnoticed(project: Project, load: Load, nextVersion: string): Promise<void> {
  const during = (work: () => Promise<unknown>): Promise<readonly Outcome[]> =>
    outcomesDuring(load, async () => {
      await work()
      await delay(SETTLE_MS)
    })
  for (const service of ['backend-a', 'router']) {
    await step(`docker kill ${service}`, async () => {
      return expectNoFailure(await during(() => killAndStart(project.container(service))), isCutStream)
    })
  }
  const up = ['up', '--detach', '--wait', '--no-build']
  for (const service of ['backend-a', 'backend-b', 'router', 'keys', 'metering']) {
    await step(`next version: ${service}`, async () => {
      const outcomes = await during(() => project.compose(nextVersion, ...up, '--no-deps', service))
      // A simulated backend that is asked to stop cuts its streams.
      return expectNoFailure(outcomes, (outcome) => service.startsWith('backend') && isCutStream(outcome))
    })
  }
  await step('next version: edge, the only door', async () => {
    const outcomes = await during(() => project.compose(nextVersion, ...up))
    const turnedAway = outcomes.filter(({ problem }) => problem === 'unreachable').map(({ endedAtMs }) => endedAtMs)
    const closedMs = turnedAway.length === 0 ? 0 : Math.max(...turnedAway) - Math.min(...turnedAway)
    const finding = expectNoFailure(outcomes.filter(({ problem }) => problem !== 'unreachable'))
    return `${finding}; no connection for ${(closedMs / 1000).toFixed(1)} s`
  })
  await step('docker network disconnect nats-2, and back', async () => {
    // What is on its way through this server is lost.
    return expectNoFailure(await during(() => cutOff(project.container('nats-2'), 'nats-2')), isCutStream)
  })
  await step('docker network disconnect redis, and back', async () => {
    return expectNoFailure(await during(() => cutOff(project.container('redis'), 'redis')))
  })
  await step('the ledger', async () => {
    await load.stop()
    const address = await project.addressOf('postgres')
    const url = `postgres://gateway:${project.passwords['POSTGRES_PASSWORD']}@${address}:5432/gateway`
    return `${await proveLedger(url, load.outcomes)} answers, each there once with the tokens that its client was told`
  })
}

/** A stream that had shown content when its server went ends with an explicit error, not with `[DONE]`. */
function isCutStream({ streamed, problem, detail }: Outcome): boolean {
  return streamed && problem === 'broken' && detail.startsWith('data: {"error"')
}

async function killAndStart(container: string): Promise<void> {
  await docker('kill', container)
  await delay(2 * SETTLE_MS)
  await docker('start', container)
  await untilHealthy(container)
}

async function cutOff(container: string, name: string): Promise<void> {
  await docker('network', 'disconnect', NETWORK, container)
  await delay(CUT_OFF_MS)
  await docker('network', 'connect', '--alias', name, NETWORK, container)
  await untilHealthy(container)
  await delay(SETTLE_MS)
}

async function untilHealthy(container: string): Promise<void> {
  while ((await docker('inspect', '--format', '{{.State.Health.Status}}', container)) !== 'healthy') await delay(500)
}
