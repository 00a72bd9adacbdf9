/**
 * Kills processes of the cluster with SIGKILL: at a step of their work, or at any moment. The cluster starts each again.
 */

import { access, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Stage } from './stage.ts'

/** Steps that the work of this test passes. */
export const STEPS = [
  'keys.administration-committed',
  'keys.audit-written',
  'keys.change-committed',
  'keys.tombstone-written',
  'keys.change-announced',
  'keys.events-stored',
  'router.job-accepted',
  'router.backend-called',
  'router.response-begun',
  'router.response-ended',
  'edge.admitted',
  'edge.dispatched',
  'edge.response-begun',
  'edge.usage-stored',
  'edge.response-ended',
  'metering.reports-received',
  'metering.reports-recorded',
  'metering.store-settled',
  'metering.deliveries-made',
  'metering.delivery-claimed',
  'metering.delivery-sent',
  'metering.export-part-made',
  'metering.export-file-synced',
  'metering.export-file-written',
] as const

export const PROCESSES = ['edge', 'router', 'keys', 'metering'].flatMap((kind) => [`${kind}-1`, `${kind}-2`])
export const SERVERS = ['nats', 'redis', 'postgres'] as const

const LOOK_EVERY_MS = 50
const GIVE_UP_MS = 60_000

/** Resolves when the process that came to the step is back. */
export async function killAtStep(stage: Stage, step: string): Promise<void> {
  const pidsBefore = pidsOf(stage)
  const file = join(stage.failpoints, step)
  await writeFile(file, '')
  await until(`a process dies at ${step}`, async () => !(await exists(file)))
  await until(`the victim of ${step} is started again`, async () => {
    const pids = pidsOf(stage)
    return pids.some((pid, index) => pid !== pidsBefore[index]) && !pids.includes(undefined)
  })
  await allReady(stage)
}

export async function kill(stage: Stage, name: string): Promise<void> {
  const isServer = (SERVERS as readonly string[]).includes(name)
  const victim = isServer ? stage.cluster.servers[name as (typeof SERVERS)[number]] : stage.cluster.process(name)
  const { pid } = victim
  process.kill(pid!, 'SIGKILL')
  await until(`${name} is started again`, async () => victim.pid !== undefined && victim.pid !== pid)
  await allReady(stage)
}

const pidsOf = ({ cluster }: Stage) => cluster.processes.map(({ pid }) => pid)

/** A process that gave up without a server is started once more. */
async function allReady({ cluster }: Stage): Promise<void> {
  const isReady = (process: (typeof cluster.processes)[number]) =>
    process.ready().then(
      () => true,
      () => false,
    )
  await until(
    'all processes are ready',
    async () => !(await Promise.all(cluster.processes.map(isReady))).includes(false),
  )
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

export async function until(what: string, holds: () => Promise<boolean>, withinMs = GIVE_UP_MS): Promise<void> {
  const giveUpAtMs = performance.now() + withinMs
  while (!(await holds())) {
    if (performance.now() > giveUpAtMs) throw new Error(`waited in vain until ${what}`)
    await sleep(LOOK_EVERY_MS)
  }
}
