/**
 * The effect of a step on a backend, in numbers: the calls under way, and the backends that each of its models has left.
 */

import type { ConfiguredModel } from '@gateway/contracts/administration/models'
import type { ListedBackend } from '@gateway/contracts/administration/ours'
import { plural } from './describe-ending.ts'

export type BackendStep = 'eject' | 'drain' | 'restore'

export interface ModelLeft {
  /** Models that the same backends serve. */
  models: string[]
  left: number
  total: number
}

type State = Pick<ListedBackend, 'id' | 'state'>
type Served = Pick<ConfiguredModel, 'id' | 'targets'>

/** A half-open one takes requests, too. */
const SERVING: ReadonlySet<ListedBackend['state']> = new Set(['usable', 'half-open', 'cooling'])

/** The models of a backend with the others that serve them, the scarcest first. */
export function modelsLeft(id: string, backends: readonly State[], models: readonly Served[]): ModelLeft[] {
  const serving = new Set(backends.filter(({ state }) => SERVING.has(state)).map((backend) => backend.id))
  const rows = new Map<string, ModelLeft>()
  for (const model of models) {
    const targets = [...new Set(model.targets.map(({ backend }) => backend))].toSorted()
    if (!targets.includes(id)) continue
    const key = targets.join(' ')
    const left = targets.filter((target) => target !== id && serving.has(target)).length
    const row = rows.get(key) ?? { models: [], left, total: targets.length }
    row.models.push(model.id)
    rows.set(key, row)
  }
  return [...rows.values()].toSorted((a, b) => a.left - b.left || b.models.length - a.models.length)
}

const MOST_NAMED = 3

export function describeLeft({ models, left, total }: ModelLeft): string {
  const named = models.length > MOST_NAMED ? models.slice(0, MOST_NAMED - 1) : models
  const others = models.length - named.length
  const names = others > 0 ? `${named.join(', ')} and ${others} others` : named.join(', ')
  if (left === 0) return `No backend of ${names} is left.`
  return `${left} of ${plural(total, 'backend')} of ${names} ${left === 1 ? 'is' : 'are'} left.`
}

export function describeCalls(step: BackendStep, outstanding: number): string {
  const calls = outstanding === 0 ? 'No call is under way' : `${plural(outstanding, 'call')} under way`
  if (step === 'restore') return 'Routers choose it again within a second.'
  return outstanding === 0 ? `${calls}.` : `${calls} ${outstanding === 1 ? 'finishes' : 'finish'}.`
}

const CAUSES = new Map([
  ['connect', 'it refuses connections'],
  ['connect_timeout', 'it accepts no connection in time'],
  ['dns', 'its name does not resolve'],
  ['tls', 'its certificate is not valid'],
  ['reset', 'it broke connections'],
  ['first_byte_timeout', 'it sent nothing in time'],
  ['idle_timeout', 'it stopped in the middle of responses'],
  ['invalid_answer', 'its responses are not valid'],
  ['truncated', 'its responses end early'],
  ['error_event', 'it sent errors in streams'],
  ['probe', 'it fails at the probe'],
])

/** The outcome of an attempt, as the router names it. */
export function describeCause(cause: string): string {
  const [, status] = /^http_(\d+)$/.exec(cause) ?? []
  return status === undefined ? (CAUSES.get(cause) ?? cause.replaceAll('_', ' ')) : `it returned HTTP ${status}`
}
