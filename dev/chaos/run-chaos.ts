/**
 * One run: a cluster, clients, faults, rest, and the verdict. Everything that it leaves lies in its folder.
 */

import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { openClientLog } from './clients/client-log.ts'
import { openClients } from './clients/client.ts'
import { injectAll } from './faults/inject.ts'
import { collectFacts, comeToRest } from './checkers/collect-facts.ts'
import type { Facts } from './checkers/facts.ts'
import { checkRun, type CheckResult } from './checkers/check-run.ts'
import { startLoad } from './load.ts'
import type { ChaosOptions } from './options.ts'
import { expectedMsOf, planFaults, type PlannedFault, spread } from './plan/faults.ts'
import { planNetworkFaults } from './plan/network-faults.ts'
import { ownersFor } from './plan/owners.ts'
import { chance } from './plan/random.ts'
import { sabotageMeanwhile } from './sabotage/prepare.ts'
import { openStage } from './stage/open-stage.ts'
import { openProjects } from './stage/open-projects.ts'

export interface ChaosRun {
  facts: Facts
  result: CheckResult
  tookMs: number
}

const FASTEST_INTERVAL_MS = 25
const SLOWEST_INTERVAL_MS = 60
/** A failover takes seconds, and requests are to come all the while. */
const SLOWEST_ON_NETWORK_MS = 250
const WARM_UP_PROBES = 40
/** A lease of a killed edge lapses after 30 s, an unacknowledged event comes again after 10 s. */
const RESTS_WITHIN_MS = 60_000
const BROKEN_RESTS_WITHIN_MS = 5_000

export async function runChaos(options: ChaosOptions, folder: string, say: (line: string) => void): Promise<ChaosRun> {
  const { seed, requests, sabotage, network, replicated, versions, ways, isBroken = sabotage !== undefined } = options
  const beganAtMs = Date.now()
  await mkdir(folder, { recursive: true })
  const faults = planned(options)
  const expectedMs = faults.reduce((sum, fault) => sum + expectedMsOf(fault), 0)
  const slowestMs = network ? SLOWEST_ON_NETWORK_MS : SLOWEST_INTERVAL_MS
  const intervalMs = Math.min(slowestMs, Math.max(FASTEST_INTERVAL_MS, expectedMs / requests))

  await using log = openClientLog(join(folder, 'clients.jsonl'))
  await using stage = await openStage({ folder, owners: ownersFor(requests), sabotage, versions, network, replicated })
  // The last release has no projects.
  const projects = versions ? null : await openProjects(stage, requests)
  const clients = openClients(stage, log, projects)
  // A process' first requests are slow, which is no fault.
  for (let probes = 0; probes < WARM_UP_PROBES; probes += 4) {
    await Promise.all([clients.probe(0), clients.probe(1), clients.probe(0), clients.probe(1)])
  }
  // An account's first request needs metering, which some faults take away.
  await clients.visit()
  say(`${requests} requests, one every ${intervalMs.toFixed(0)} ms; ${faults.length} faults; seed ${seed}`)
  const load = startLoad(clients, {
    seed,
    requests,
    intervalMs,
    clientele: ways && { ways, isFormer: versions !== undefined },
  })
  const [injected] = await Promise.all([
    injectAll(stage, clients, load, faults, say),
    sabotage &&
      sabotageMeanwhile(
        { redisUrl: stage.cluster.servers.redis.url, database: stage.database },
        (share) => load.reached(requests * share),
        sabotage,
      ),
  ])
  await load.over
  say('all requests are over; waiting until nothing is pending')
  const restsWithinMs = isBroken ? BROKEN_RESTS_WITHIN_MS : RESTS_WITHIN_MS
  await comeToRest(stage, injected, restsWithinMs)
  await clients.sayFarewell()
  await comeToRest(stage, injected, restsWithinMs)
  const facts = await collectFacts(stage, log, { injected, projects })
  return { facts, result: checkRun(facts), tookMs: Date.now() - beganAtMs }
}

function planned({ seed, requests, kills, only, network, replicated, switches }: ChaosOptions): PlannedFault[] {
  if (switches) return spread(switches, requests, chance(seed, 'switches'))
  return network
    ? planNetworkFaults({ seed, requests, kills, replicated })
    : planFaults({ seed, requests, kills, only })
}
