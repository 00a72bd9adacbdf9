/**
 * Cost against the size of the prompt.
 */

import { memoryNow } from '../harness/costs.ts'
import type { Curve, Scaling } from './curve.ts'
import { openRig, PLAIN, sumOf } from './rig.ts'

const SIZES = [1_000, 10_000, 100_000, 1_000_000, 10_000_000]
const CONNECTIONS = 4

export async function scalePrompts({ signal, say }: Scaling): Promise<Curve> {
  await using rig = await openRig(signal)
  await rig.run(PLAIN, { connections: 16, seconds: 5 })
  const points: Curve['points'] = []
  for (const promptBytes of SIZES) {
    const order = { ...PLAIN, promptBytes }
    await rig.run(order, { connections: CONNECTIONS, seconds: 1 })
    const measured = await rig.costedRun(order, { connections: CONNECTIONS, seconds: 6 }, ({ requests }) => requests)
    const { load, cpuMs } = measured
    const mb = memoryNow(rig.gateway.processes())
    const values = {
      cpu: sumOf(cpuMs),
      edge: sumOf(cpuMs, 'edge'),
      router: sumOf(cpuMs, 'router'),
      nats: sumOf(cpuMs, 'nats'),
      p50: load.latency.p50,
      p99: load.latency.p99,
      perSecond: load.requests / load.seconds,
      failed: load.failed,
      edgeMb: sumOf(mb, 'edge'),
      routerMb: sumOf(mb, 'router'),
    }
    points.push({ x: promptBytes, values })
    say(`  ${promptBytes} bytes: ${values.cpu.toFixed(2)} ms CPU per request, p50 ${values.p50.toFixed(1)} ms`)
  }
  return {
    title: 'Size of the prompt',
    x: 'bytes',
    columns: {
      cpu: 'CPU ms per request, all processes',
      edge: 'of it edge',
      router: 'of it router',
      nats: 'of it NATS',
      p50: 'p50 ms',
      p99: 'p99 ms',
      perSecond: 'requests/s',
      failed: 'failed',
      edgeMb: 'edge MB',
      routerMb: 'router MB',
    },
    points,
    panels: [
      { title: 'CPU ms per request', columns: ['cpu', 'edge', 'router', 'nats'] },
      { title: 'ms', columns: ['p50', 'p99'] },
      { title: 'MB', columns: ['edgeMb', 'routerMb'] },
    ],
    notes: [`Plain answers of 1 KB, ${CONNECTIONS} connections.`],
  }
}
