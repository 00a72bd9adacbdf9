/**
 * Reads a V8 CPU profile: which functions the time itself was spent in, between two moments.
 */

import * as z from 'zod'

export const cpuProfile = z.object({
  nodes: z.array(
    z.object({
      id: z.number(),
      callFrame: z.object({ functionName: z.string(), url: z.string(), lineNumber: z.number() }),
    }),
  ),
  /** Microseconds of the system's monotonic clock. */
  startTime: z.number(),
  samples: z.array(z.number()),
  timeDeltas: z.array(z.number()),
})

export type CpuProfile = z.infer<typeof cpuProfile>

export interface SelfTime {
  name: string
  place: string
  share: number
}

const NOT_WORK = new Set(['(idle)', '(root)'])

/** Shares of the time that was not idle, the largest first. */
export function selfTimes(profile: CpuProfile, fromUs = -Infinity, toUs = Infinity): SelfTime[] {
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]))
  const times = new Map<string, SelfTime>()
  let atUs = profile.startTime
  let allUs = 0
  for (const [index, id] of profile.samples.entries()) {
    atUs += profile.timeDeltas[index] ?? 0
    // A sample stands for the time until the next one.
    const forUs = profile.timeDeltas[index + 1] ?? 0
    const frame = frames.get(id)
    if (!frame || atUs < fromUs || atUs > toUs || NOT_WORK.has(frame.functionName)) continue
    const name = frame.functionName || '(anonymous)'
    const place = frame.url === '' ? '' : `${shorten(frame.url)}:${frame.lineNumber + 1}`
    const key = `${name} ${place}`
    const held = times.get(key) ?? { name, place, share: 0 }
    held.share += forUs
    times.set(key, held)
    allUs += forUs
  }
  return [...times.values()]
    .map((time) => ({ ...time, share: allUs === 0 ? 0 : time.share / allUs }))
    .sort((a, b) => b.share - a.share)
}

/** `services/edge/src/admit.ts`, `undici/lib/dispatcher/client-h1.js`, `node:net`. */
function shorten(url: string): string {
  const inPackage = url.lastIndexOf('/node_modules/')
  if (inPackage >= 0) return url.slice(inPackage + '/node_modules/'.length)
  return /(?:services|packages)\/.*$/.exec(url)?.[0] ?? url
}
