/**
 * Cost against the number of streams that run at once, each with a chunk per 50 ms.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { memoryNow } from '../harness/costs.ts'
import type { Curve, Scaling } from './curve.ts'
import { AllFailedError, openRig, PLAIN, sumOf } from './rig.ts'

const LEVELS = [10, 30, 100, 300, 1_000, 2_000, 3_000]
const RAMP_SECONDS = 2
const ALL_RUN_MS = 5_000

export async function scaleStreams({ signal, say }: Scaling): Promise<Curve> {
  await using rig = await openRig(signal)
  await rig.run(PLAIN, { connections: 32, seconds: 5 })
  const order = { stream: true, chunks: 140, everyUs: 50_000, bytes: 20 }
  await rig.run({ ...order, chunks: 20 }, { connections: 50, seconds: 1 })
  const points: Curve['points'] = []
  const beyond: string[] = []

  async function measure(streams: number): Promise<void> {
    await rig.backend.counts()
    const options = { connections: streams, seconds: RAMP_SECONDS, rampSeconds: RAMP_SECONDS, drainSeconds: 15 }
    const memory = sleep(ALL_RUN_MS, undefined, { signal }).then(() => memoryNow(rig.gateway.processes()))
    const measured = rig.costedRun(order, { ...options, measureAfterSeconds: RAMP_SECONDS }, ({ chunks }) => chunks)
    const [mb, { load, cpuMs }] = await Promise.all([memory, measured])
    const { lateness } = await rig.backend.counts()
    const values = {
      cpu: sumOf(cpuMs) * 1_000,
      edge: sumOf(cpuMs, 'edge') * 1_000,
      router: sumOf(cpuMs, 'router') * 1_000,
      nats: sumOf(cpuMs, 'nats') * 1_000,
      lagP50: load.lag.p50,
      lagP99: load.lag.p99,
      backendLateP99: lateness.p99,
      failed: load.failed + load.unfinished,
      edgeMb: sumOf(mb, 'edge'),
      routerMb: sumOf(mb, 'router'),
    }
    points.push({ x: streams, values })
    say(`  ${streams} streams: ${values.cpu.toFixed(0)} µs CPU per chunk, lag p99 ${values.lagP99.toFixed(1)} ms`)
  }

  for (const streams of LEVELS) {
    try {
      await measure(streams)
    } catch (error) {
      if (!(error instanceof AllFailedError)) throw error
      beyond.push(`At ${streams} streams none came whole (${error.message.trim()}): more than these cores can carry.`)
      say(`  ${beyond[0]}`)
      break
    }
  }
  return {
    title: 'Streams at once',
    x: 'streams',
    columns: {
      cpu: 'CPU µs per chunk, all processes',
      edge: 'of it edge',
      router: 'of it router',
      nats: 'of it NATS',
      lagP50: 'lag p50 ms',
      lagP99: 'lag p99 ms',
      backendLateP99: "backend's own lateness p99 ms",
      failed: 'failed',
      edgeMb: 'edge MB',
      routerMb: 'router MB',
    },
    points,
    panels: [
      { title: 'CPU µs per chunk', columns: ['cpu', 'edge', 'router', 'nats'] },
      { title: 'lag ms', columns: ['lagP50', 'lagP99'] },
      { title: 'MB', columns: ['edgeMb', 'routerMb'] },
    ],
    notes: [
      'One edge, one router; every stream runs seven seconds. CPU per chunk holds its share of the request around it.',
      "Where the backend itself was late, the machine's cores were full, and the lag is the machine's.",
      ...beyond,
    ],
  }
}
