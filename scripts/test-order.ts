/**
 * The order in which test files begin, from a run that is thought through: whenever a worker is free, the longest file
 * begins whose demand the cores still bear. So files that wait run beside files that compute, and no long one runs last and
 * alone. A wrong figure costs time, never a result.
 */

import { availableParallelism } from 'node:os'
import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

export interface Cost {
  seconds: number
  /** How many cores it keeps busy meanwhile. */
  cores: number
}

const cost = (seconds: number, cores: number): Cost => ({ seconds, cores })

/** On two cores with nothing else to do; of every other file, {@link SMALL}. */
export const costs: Record<string, Cost> = {
  'tests/cluster.test.ts': cost(134, 0.7),
  'tests/skew.test.ts': cost(112, 0.85),
  'tests/faults.test.ts': cost(97, 0.5),
  'tests/stop-without-servers.test.ts': cost(85, 0.4),
  'tests/console/pages.test.ts': cost(82, 1),
  'tests/chaos-sabotage.test.ts': cost(75, 0.8),
  'tests/console/visitors.test.ts': cost(65, 1),
  'tests/release.test.ts': cost(64, 0.8),
  'tests/rolling-restart.test.ts': cost(59, 0.5),
  'tests/nats-cluster.test.ts': cost(55, 0.55),
  'tests/redis-trouble.test.ts': cost(53, 0.65),
  'tests/idempotency.test.ts': cost(51, 0.5),
  'tests/embedded.test.ts': cost(50, 0.7),
  'tests/chaos.test.ts': cost(48, 0.9),
  'tests/ctl.test.ts': cost(48, 0.75),
  'tests/console/connection-trouble.test.ts': cost(44, 0.65),
  'services/router/test/health.test.ts': cost(43, 0.05),
  'packages/bus/src/conformance/loss.test.ts': cost(41, 0.05),
  'packages/redis/src/cluster.test.ts': cost(37, 0.1),
  'tests/console/session-ended.test.ts': cost(35, 0.4),
  'packages/cluster/src/start.test.ts': cost(35, 0.9),
  'packages/config/src/config-source.test.ts': cost(29, 0.1),
  'tests/redis-sentinel.test.ts': cost(29, 1),
  'packages/admission/src/redis/cluster.test.ts': cost(27, 0.1),
  'services/keys/src/announce-changes.test.ts': cost(27, 0.2),
  'packages/bus/src/conformance/broker-restart.test.ts': cost(26, 0.2),
  'tests/first-day.test.ts': cost(23, 0.6),
  'packages/bus/src/nats/nats.test.ts': cost(21, 0.1),
  'tests/nats-permissions.test.ts': cost(19, 0.65),
  'tests/memory-exhausted.test.ts': cost(19, 0.65),
  'packages/redis/src/watch-failover.test.ts': cost(18, 0.1),
  'tests/metering-killed.test.ts': cost(18, 0.65),
  'tests/redis-cluster.test.ts': cost(18, 0.65),
  'tests/revoke-on-its-way.test.ts': cost(17, 0.65),
  'services/keys/src/handlers/developer-keys.test.ts': cost(15, 0.5),
  'tests/thresholds.test.ts': cost(14, 0.65),
  'tests/keys-killed.test.ts': cost(14, 0.65),
  'tests/canary.test.ts': cost(14, 0.65),
  'services/edge/src/relay/run-job.test.ts': cost(12, 0.1),
  'services/edge/src/clients.test.ts': cost(8, 0.1),
  'services/edge/src/listen/intake.test.ts': cost(7, 0.1),
}
const SMALL = cost(4, 0.5)

export class TestOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const costOf = (file: TestSpecification) => costs[relative(this.ctx.config.root, file.moduleId)] ?? SMALL
    const groups = Map.groupBy(files, ({ project }) => project.config.sequence.groupOrder)
    return [...groups]
      .toSorted(([a], [b]) => a - b)
      .flatMap(([, group]) => {
        const { maxWorkers } = group[0]!.project.config
        return inOrder(group, costOf, { workers: maxWorkers, cores: availableParallelism() })
      })
  }
}

export function inOrder<File>(
  files: readonly File[],
  costOf: (file: File) => Cost,
  { workers, cores }: { workers: number; cores: number },
): File[] {
  const waiting = files.toSorted((a, b) => costOf(b).seconds - costOf(a).seconds)
  const order: File[] = []
  let running: { cores: number; untilS: number }[] = []
  for (let atS = 0; waiting.length > 0; atS = Math.min(...running.map(({ untilS }) => untilS))) {
    running = running.filter(({ untilS }) => untilS > atS)
    while (running.length < workers && waiting.length > 0) {
      const free = running.reduce((left, one) => left - one.cores, cores)
      const fits = waiting.findIndex((file) => costOf(file).cores <= free)
      const leastCores = Math.min(...waiting.map((file) => costOf(file).cores))
      const at = fits < 0 ? waiting.findIndex((file) => costOf(file).cores === leastCores) : fits
      const [file] = waiting.splice(at, 1)
      order.push(file!)
      running.push({ cores: costOf(file!).cores, untilS: atS + costOf(file!).seconds })
    }
  }
  return order
}
