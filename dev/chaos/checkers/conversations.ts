/**
 * A conversation goes on as one, whichever edge, router and target serve its requests. By the backends' own log, a model's signed
 * thoughts come back byte for byte. So do the summary of a compaction and the earlier turns of a WebSocket.
 */

import type { Seen } from '../clients/seen.ts'
import type { Call, Facts, Verdict } from './facts.ts'

export function checkConversations({ seen, calls }: Facts): Verdict {
  const byId = Map.groupBy(calls, ({ id }) => id)
  const continued = seen.filter(({ follows, id }) => follows.length > 0 && byId.has(id))
  return {
    invariant: 'each request brings its conversation to the model: thoughts, summaries and turns',
    checked: continued.length,
    violations: continued.flatMap((one) => {
      const faults = byId.get(one.id)!.flatMap((call) => faultOf(one, call, byId))
      return faults.map((what) => ({ requests: [`${one.id} ${one.requestId}`], what }))
    }),
  }
}

function faultOf({ kind, follows }: Seen, { brought }: Call, byId: ReadonlyMap<string, Call[]>): string[] {
  if (kind === 'compact') return brought.hasSummary ? [] : ['its model did not get the summary']
  if (kind === 'socket') {
    const missing = follows.filter((id) => !brought.ids.includes(id))
    return missing.length === 0 ? [] : [`its model did not get ${missing.join(', ')}`]
  }
  const { thoughtsOf } = brought
  const areThose = follows.every((id, at) => byId.get(id)?.some(({ responseId }) => responseId === thoughtsOf[at]))
  if (areThose && thoughtsOf.length === follows.length) return []
  return [`its model got the thoughts of ${thoughtsOf.join(', ') || 'no response'} and not of ${follows.join(', ')}`]
}
