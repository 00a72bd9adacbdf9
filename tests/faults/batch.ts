/**
 * A batch of requests to a cluster, and the expectations of all of them: the clients' view, the backends' calls and the
 * ledger's rows.
 */

import type { BackendCall } from '@gateway/stand-ins/backend'
import { expect } from 'vitest'
import { REPLY, requestChat, type Requested, QUESTION, type Seen } from './request-chat.ts'
import type { Lane } from './lanes.ts'
import type { Stage } from './stage.ts'

/** Enough that some are on either router: all on one has a chance of 1 : 8 million. */
export const BATCH = 24

/** Half plain, half streamed where the modes are both, at both edges. */
export function requestBatch(
  { caller, edges }: Stage,
  lane: Lane,
  modes: 'both' | 'stream',
  content = QUESTION,
): Requested[] {
  return Array.from({ length: BATCH }, (_, index) => {
    const stream = modes === 'stream' || index % 4 < 2
    return requestChat({ url: edges[index % 2]!, key: caller.key, model: lane.model, stream, content })
  })
}

export const over = (requested: Requested[]): Promise<Seen[]> => Promise.all(requested.map((one) => one.over))

/** The broken ones, of which there are some, and the whole ones, of which there are some too. */
export function partition(all: Seen[]): { broken: Seen[]; complete: Seen[] } {
  const [broken, complete] = [all.filter((seen) => !seen.complete), all.filter((seen) => seen.complete)]
  expect(broken.length).toBeGreaterThan(0)
  expect(complete.length).toBeGreaterThan(0)
  return { broken, complete }
}

export async function expectAllComplete(all: Seen[], text = REPLY): Promise<void> {
  for (const seen of all) expect(seen).toMatchObject({ error: null, text, complete: true, errorEvent: false })
}

export function callsThat({ calls }: Stage, lane: Lane, outcome: BackendCall['outcome']): BackendCall[] {
  return calls(lane).filter((call) => call.outcome === outcome)
}

/** The requests that the calls belong to. */
export const requests = (calls: BackendCall[]) => new Set(calls.map(({ requestId }) => requestId))

/** A router that was slow to accept may have begun before it heard that another had: that call was soon stopped. */
export function furthest(stage: Stage, lane: Lane): BackendCall[] {
  const calls = stage.calls(lane).toSorted((a, b) => b.chunksSent - a.chunksSent)
  return [...requests(calls)].map((id) => calls.find(({ requestId }) => requestId === id)!)
}

export function secondsUntilEnd(stage: Stage, lane: Lane, sinceMs: number): string {
  return (Math.max(...stage.calls(lane).map((call) => call.endedAtMs! - sinceMs)) / 1_000).toFixed(1)
}

/** Each request once, as the edge saw it end. */
export async function expectEachMeteredOnce(stage: Stage, lane: Lane, all: Seen[], tokens: number): Promise<void> {
  for (const { requestId } of all) {
    const row = await stage.row(requestId!)
    expect(row).toMatchObject({ reporter: 'edge', outcome: 'completed', completionTokens: tokens, estimated: false })
    expect(row.charge).toBe((row.promptTokens + tokens) * 1_000)
  }
  expect(await stage.rows(lane)).toHaveLength(all.length)
}

/** The row holds the tokens that the backend had generated. The edge reports them, or the router of a lost edge. */
export async function expectBilledAsGenerated(
  stage: Stage,
  call: BackendCall,
  outcome: 'client_gone' | 'edge_lost',
): Promise<void> {
  const row = await stage.row(call.requestId!)
  const reporter = outcome === 'edge_lost' ? 'router' : 'edge'
  expect(row).toMatchObject({ reporter, outcome, delivered: false, estimated: true })
  // One chunk a token after the role; the last may have been on its way.
  expect(Math.abs(row.completionTokens - (call.chunksSent - 1))).toBeLessThanOrEqual(2)
  expect(row.charge).toBe((row.promptTokens + row.completionTokens) * 1_000)
}
