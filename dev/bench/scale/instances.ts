/**
 * Cost against the number of edges and routers. On a machine with few cores more of them serve no more requests. The
 * curve shows if a request gets dearer when they are many.
 */

import type { Curve, Scaling } from './curve.ts'
import { openRig, PLAIN, sumOf } from './rig.ts'

const COMBINATIONS = [
  [1, 1],
  [2, 1],
  [1, 2],
  [2, 2],
  [3, 3],
  [4, 4],
] as const

export async function scaleInstances({ signal, say }: Scaling): Promise<Curve> {
  const points: Curve['points'] = []
  for (const [edges, routers] of COMBINATIONS) {
    await using rig = await openRig(signal, { edges, routers })
    await rig.run(PLAIN, { connections: 32, seconds: 3 + 2 * Math.max(edges, routers) })
    const { load, cpuMs } = await rig.costedRun(PLAIN, { connections: 32, seconds: 6 }, ({ requests }) => requests)
    const stream = { stream: true, chunks: 60, everyUs: 50_000, bytes: 20 }
    const many = { connections: 200, seconds: 1, rampSeconds: 1 }
    const streams = await rig.costedRun(stream, many, ({ chunks }) => chunks)
    const values = {
      cpu: sumOf(cpuMs),
      edges: sumOf(cpuMs, 'edge'),
      routers: sumOf(cpuMs, 'router'),
      perSecond: load.requests / load.seconds,
      chunkCpu: sumOf(streams.cpuMs) * 1_000,
    }
    points.push({ x: `${edges} + ${routers}`, values })
    say(`  ${edges} edges, ${routers} routers: ${values.cpu.toFixed(3)} ms CPU per request`)
  }
  return {
    title: 'Edges and routers',
    x: 'edges + routers',
    columns: {
      cpu: 'CPU ms per request, all processes',
      edges: 'of it edges',
      routers: 'of it routers',
      perSecond: 'requests/s on this machine',
      chunkCpu: 'CPU µs per chunk, 200 streams',
    },
    points,
    panels: [
      { title: 'CPU ms per request', columns: ['cpu', 'edges', 'routers'] },
      { title: 'CPU µs per chunk', columns: ['chunkCpu'] },
    ],
    notes: ['32 connections over all edges. All processes share the cores with the backend and the load generator.'],
  }
}
