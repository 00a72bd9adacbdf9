/**
 * Servers are killed, replaced and cut off while clients send requests without a pause. No response fails that need not fail,
 * and the ledger is exact afterwards.
 */

import { setTimeout as delay } from 'node:timers/promises'
import { usageStream } from '@gateway/contracts/subjects'
import { newDeveloper } from '../../../tests/promises/gateway.ts'
import { startLoad, type Load, type Outcome } from '../../../tests/promises/load.ts'
import { proveLedger } from '../engine/ledger.ts'
import { expectNoFailure, outcomesDuring, wasOpenAt } from '../engine/outcomes.ts'
import { step } from '../engine/steps.ts'
import { type Cut, cutOff, kill, leaderOf, type Server } from './cuts.ts'
import type { Project, Version } from './project.ts'
import { GATEWAY, MODEL, putOnPlan } from './tour.ts'

const CLIENTS = 6
const SETTLE_MS = 5_000
/** Two pings of the bus without a pong, or NATS' election of a leader. The edge begins no work that it could not meter. */
const REFUSES_FOR_MS = 15_000

/** Each on an account of its own, under a plan whose limits it does not reach. */
export async function startClients(project: Project): Promise<Load> {
  const keys: string[] = []
  for (let count = 0; count < CLIENTS; count++) {
    const { key } = await newDeveloper(GATEWAY)
    await putOnPlan(project, key)
    keys.push(key)
  }
  const load = startLoad(GATEWAY, keys, { model: MODEL, clients: CLIENTS })
  await step('load', async () => expectNoFailure(await outcomesDuring(load, () => delay(2 * SETTLE_MS))))
  return load
}

/** One service after the other, as deploy/README.md says. */
export async function roll(project: Project, load: Load, version: Version): Promise<void> {
  const up = ['up', '--detach', '--wait', '--no-build']
  for (const service of ['router', 'keys', 'metering']) {
    await step(`${service} becomes ${version}`, async () => {
      return expectNoFailure(await during(load, () => project.compose(version, ...up, '--no-deps', service)))
    })
  }
  await step(`the only edge becomes ${version}`, async () => {
    const outcomes = await during(load, () => project.compose(version, ...up))
    const turnedAway = outcomes.filter(({ problem }) => problem === 'unreachable').map(({ endedAtMs }) => endedAtMs)
    const closedMs = turnedAway.length === 0 ? 0 : Math.max(...turnedAway) - Math.min(...turnedAway)
    const finding = expectNoFailure(outcomes.filter(({ problem }) => problem !== 'unreachable'))
    return `${finding}; no connection for ${(closedMs / 1000).toFixed(1)} s`
  })
}

export async function loseServers(project: Project, load: Load): Promise<void> {
  const lose = (title: string, act: () => Promise<Cut>, isAllowed: (outcome: Outcome, cut: Cut) => boolean) =>
    step(title, async () => {
      let cut: Cut = { fromMs: 0, toMs: 0 }
      const outcomes = await during(load, async () => (cut = await act()))
      const open = outcomes.filter((outcome) => outcome.streamed && wasOpenAt(outcome, cut))
      return `${expectNoFailure(outcomes, (outcome) => isAllowed(outcome, cut))}; ${open.length} streams were open at the cut`
    })
  const servers: Server[] = [
    { service: 'backend-a', port: 9100 },
    { service: 'router', port: 8081 },
  ]
  for (const server of servers) await lose(`docker kill ${server.service}`, () => kill(project, server), isCutStream)
  const leader = { service: await leaderOf(project, usageStream.name), port: 4222 }
  await lose('docker network disconnect NATS’ leader, and back', () => cutOff(project, leader), isCutByNats)
  const redis = { service: 'redis', port: 6379 }
  await lose(
    'docker network disconnect redis, and back',
    () => cutOff(project, redis),
    () => false,
  )
}

export async function proveResponses(project: Project, load: Load): Promise<void> {
  await step('the ledger', async () => {
    await load.stop()
    const address = await project.addressOf('postgres')
    const url = `postgres://gateway:${project.passwords['POSTGRES_PASSWORD']}@${address}:5432/gateway`
    return `${await proveLedger(url, load.outcomes)} responses, each there once with the tokens that its client saw`
  })
}

async function during(load: Load, work: () => Promise<unknown>): Promise<readonly Outcome[]> {
  return outcomesDuring(load, async () => {
    await work()
    await delay(SETTLE_MS)
  })
}

/** A stream that had shown content when its server went ends with an explicit error. One that begins later does not. */
function isCutStream(outcome: Outcome, cut: Cut): boolean {
  const { streamed, problem, detail } = outcome
  return streamed && problem === 'broken' && detail.startsWith('data: {"error"') && wasOpenAt(outcome, cut)
}

function isCutByNats(outcome: Outcome, cut: Cut): boolean {
  const { problem, detail, endedAtMs } = outcome
  const isRefused = problem === '503' && detail.includes('cannot meter') && endedAtMs < cut.toMs + REFUSES_FOR_MS
  return isRefused || isCutStream(outcome, cut)
}
