/**
 * Reads a V8 CPU profile: the time spent between two moments, by function, and by the part of the program that called
 * it.
 */

import * as z from 'zod'

const node = z.object({
  id: z.number(),
  callFrame: z.object({ functionName: z.string(), url: z.string(), lineNumber: z.number() }),
  children: z.array(z.number()).optional(),
})

export const cpuProfile = z.object({
  nodes: z.array(node),
  /** Microseconds of the system's monotonic clock. */
  startTime: z.number(),
  samples: z.array(z.number()),
  timeDeltas: z.array(z.number()),
})

export type CpuProfile = z.infer<typeof cpuProfile>
type ProfileNode = z.infer<typeof node>

export interface SelfTime {
  name: string
  place: string
  share: number
}

export interface PartTime {
  /** A package, or a file of ours: `undici`, `services/edge/src/main.ts`; `node`: nobody's, the runtime's own. */
  part: string
  share: number
}

const NOT_WORK = new Set(['(idle)', '(root)'])

/** Shares of the time that was not idle, the largest first. */
export function selfTimes(profile: CpuProfile, fromUs = -Infinity, toUs = Infinity): SelfTime[] {
  const times = new Map<string, SelfTime>()
  for (const [{ callFrame }, share] of sharesByNode(profile, fromUs, toUs)) {
    const { functionName, url, lineNumber } = callFrame
    const name = functionName || '(anonymous)'
    const place = url === '' ? '' : `${shorten(url)}:${lineNumber + 1}`
    const key = `${name} ${place}`
    const held = times.get(key) ?? { name, place, share: 0 }
    held.share += share
    times.set(key, held)
  }
  return largestFirst([...times.values()])
}

/** The same time, each moment given to the package or file of ours that is nearest up its calls. */
export function partTimes(profile: CpuProfile, fromUs = -Infinity, toUs = Infinity): PartTime[] {
  const nodes = new Map(profile.nodes.map((each) => [each.id, each]))
  const parents = new Map(
    profile.nodes.flatMap((each) => (each.children ?? []).map((id): [number, ProfileNode] => [id, each])),
  )
  const shares = new Map<string, number>()
  for (const [taken, share] of sharesByNode(profile, fromUs, toUs)) {
    let caller: ProfileNode | undefined = nodes.get(taken.id)
    while (caller && partOf(caller.callFrame.url) === null) caller = parents.get(caller.id)
    const part = (caller && partOf(caller.callFrame.url)) ?? (taken.callFrame.functionName === GC ? GC : 'node')
    shares.set(part, (shares.get(part) ?? 0) + share)
  }
  return largestFirst([...shares].map(([part, share]) => ({ part, share })))
}

const GC = '(garbage collector)'

function largestFirst<Time extends { share: number }>(times: Time[]): Time[] {
  return times.toSorted((a, b) => b.share - a.share)
}

/** Shares of the time that was not idle; a sample stands for the time until the next one. */
function sharesByNode(profile: CpuProfile, fromUs: number, toUs: number): Map<ProfileNode, number> {
  const nodes = new Map(profile.nodes.map((each) => [each.id, each]))
  const times = new Map<ProfileNode, number>()
  let atUs = profile.startTime
  let allUs = 0
  for (const [index, id] of profile.samples.entries()) {
    atUs += profile.timeDeltas[index] ?? 0
    const forUs = profile.timeDeltas[index + 1] ?? 0
    const taken = nodes.get(id)
    if (!taken || atUs < fromUs || atUs > toUs || NOT_WORK.has(taken.callFrame.functionName)) continue
    times.set(taken, (times.get(taken) ?? 0) + forUs)
    allUs += forUs
  }
  return new Map([...times].map(([taken, forUs]) => [taken, allUs === 0 ? 0 : forUs / allUs]))
}

/** Null: Node's own and native code, which work for their caller. */
function partOf(url: string): string | null {
  const place = shorten(url)
  if (place === url) return null
  if (/^(?:services|packages)\//.test(place)) return place
  return /^(?:@[^/]+\/)?[^/]+/.exec(place)?.[0] ?? null
}

/** `services/edge/src/main.ts`, `undici/lib/dispatcher/client-h1.js`, `node:net`. */
function shorten(url: string): string {
  const inPackage = url.lastIndexOf('/node_modules/')
  if (inPackage >= 0) return url.slice(inPackage + '/node_modules/'.length)
  return /(?:services|packages)\/.*$/.exec(url)?.[0] ?? url
}
