/**
 * The lanes of the fault tests: models with two backends each that nobody has seen fail yet, the first preferred.
 *
 * The router avoids a backend that failed for a while, so every case takes a lane of its own. One simulated server
 * plays all backends, and distinguishes them by a header.
 */

export interface Lane {
  model: string
  first: string
  /** Not in lanes with one backend only. */
  second: string
}

/** The number of lanes of each kind. */
const COUNTS = {
  warmup: 1,
  chat: 90,
  images: 4,
  embeddings: 2,
  /** With a first backend that cannot even be reached. */
  refused: 2,
  unknown_name: 2,
  no_tls: 2,
  /** With one backend only. */
  lone: 20,
  /** The same; its responses never end. */
  endless: 2,
}
export type LaneGroup = keyof typeof COUNTS
const WITH_ONE_BACKEND: ReadonlySet<LaneGroup> = new Set(['lone', 'endless'])

export const WARM_UP_MODEL = 'warmup-1'

/** Silence that a backend is allowed: far above the time that a busy machine needs for a response. */
export const SILENCE_MS = 5_000

const groups = Object.keys(COUNTS) as LaneGroup[]
const lanesOf = (group: LaneGroup) => Array.from({ length: COUNTS[group] }, (_, index) => laneOf(group, index + 1))
const laneOf = (group: LaneGroup, number: number): Lane => {
  const model = `${group}-${number}`
  return { model, first: `${model}-a`, second: `${model}-b` }
}

/** Hands out each lane once. */
export function openLanes(): (group?: LaneGroup) => Lane {
  const taken = new Map<LaneGroup, number>()
  return (group = 'chat') => {
    const number = (taken.get(group) ?? 0) + 1
    if (number > COUNTS[group]) throw new Error(`no lane of ${group} is left: raise their number`)
    taken.set(group, number)
    return laneOf(group, number)
  }
}

export interface Urls {
  /** Plays all backends that can be reached and end their responses. */
  backend: string
  endless: string
  /** Nobody listens there. */
  dead: string
}

export function configOver(urls: Urls): object {
  const firstUrls: Partial<Record<LaneGroup, string>> = {
    refused: urls.dead,
    unknown_name: 'http://no-such-host.invalid:8000/v1',
    no_tls: urls.backend.replace('http:', 'https:'),
    endless: urls.endless,
  }
  const backendAt = (id: string, address = urls.backend) => ({
    id,
    url: address,
    headers: { 'x-simulated-backend': id },
    timeouts: { connectMs: 2_000, firstByteMs: SILENCE_MS, idleMs: SILENCE_MS },
    maxConcurrent: 1_000,
    capabilities: ['chat', 'tools', 'vision', 'embeddings', 'images'],
  })
  const backendsOf = (group: LaneGroup, { first, second }: Lane) => {
    const preferred = backendAt(first, firstUrls[group])
    return WITH_ONE_BACKEND.has(group) ? [preferred] : [preferred, backendAt(second)]
  }
  const all = groups.flatMap((group) =>
    lanesOf(group).map((lane) => ({ group, model: lane.model, backends: backendsOf(group, lane) })),
  )
  return {
    backends: all.flatMap(({ backends }) => backends),
    pools: all.map(({ model, backends }) => ({
      id: model,
      targets: backends.map(({ id }, index) => ({ backend: id, model: 'sim-frail', priority: index + 1 })),
    })),
    models: all.map(({ group, model }) => {
      const common = { id: model, pool: model, multiplier: 1 }
      return group === 'images' || group === 'embeddings'
        ? { ...common, type: group }
        : { ...common, type: 'chat', maxOutputTokens: 8_192 }
    }),
    plans: [
      { slug: 'guest-device', limit: 5_000, rpm: 60, tpm: 100_000, perDay: 100, guest: true },
      { slug: 'team', limit: 1e12, rpm: 1_000_000, tpm: 1e9, paid: true, default: true },
    ],
  }
}
