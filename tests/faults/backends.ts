/**
 * Promises to clients for the time when the first of two backends fails in any way. Clients notice nothing before
 * content, and read the truth after it. The bill has no more than the content shown.
 */

import type { FaultPageSection } from '@gateway/testing/fault-page'
import type { BackendCall, Fault } from '@gateway/stand-ins/backend'
import { beforeAll, describe, expect, test } from 'vitest'
import { REPLY, requestChat, QUESTION, type Seen } from './request-chat.ts'
import { type Lane, type LaneGroup, SILENCE_MS } from './lanes.ts'
import { type LedgerRow, SOON, type Stage } from './stage.ts'

type Mode = 'plain' | 'stream'

export interface Case {
  name: string
  /** Where it has none, its lane's first backend cannot be reached. */
  fault?: Fault
  group?: LaneGroup
  only?: Mode
}

/** As Gemini says it. */
const BAD_KEY = '{"error":{"code":400,"message":"API key not valid. Please pass a valid API key."}}'

/** The first piece of a stream is the role: up to there a client has seen nothing. */
export const BEFORE_CONTENT: Case[] = [
  { name: 'refuses connections', group: 'refused' },
  { name: 'has a name that does not exist', group: 'unknown_name' },
  { name: 'speaks no TLS where it should', group: 'no_tls' },
  ...[500, 502, 503, 504, 401, 403, 404].map((status) => ({ name: `returns ${status}`, fault: { status } })),
  { name: 'returns 429 with retry-after', fault: { status: 429, retryAfter: 20 } },
  { name: 'returns 429 without retry-after', fault: { status: 429 } },
  { name: 'hangs before its headers', fault: { hang: true } },
  { name: 'is too slow with its first byte', fault: { firstByteDelayMs: SILENCE_MS * 4 } },
  { name: 'closes the connection', fault: { disconnect: true } },
  { name: 'resets the connection', fault: { disconnect: true, reset: true } },
  { name: 'dies after its headers', fault: { dieAfterChunks: 0 } },
  { name: 'dies after one piece', fault: { dieAfterChunks: 1 } },
  { name: 'is reset after one piece', fault: { dieAfterChunks: 1, reset: true } },
  { name: 'stalls after its headers', fault: { stallAfterChunks: 0 } },
  { name: 'stalls after one piece', fault: { stallAfterChunks: 1 } },
  { name: 'is half-open after one piece', fault: { halfOpenAfterChunks: 1 } },
  { name: 'returns HTML with status 200', fault: { html: true } },
  { name: 'returns an error with status 200', fault: { body: '{"error":{"message":"CUDA out of memory"}}' } },
  { name: 'sends garbage before content', fault: { garbageAfterChunks: 0 } },
  { name: 'cuts its JSON in half', fault: { truncatedJson: true }, only: 'plain' },
  { name: 'dies after many pieces', fault: { dieAfterChunks: 5 }, only: 'plain' },
  { name: 'reports an error before content', fault: { errorAfterChunks: 1 }, only: 'stream' },
  {
    name: 'reports an error beside choices before content',
    fault: { errorAfterChunks: 1, errorBesideChoices: true },
    only: 'stream',
  },
  { name: 'returns 400 for its own bad key', fault: { status: 400, body: BAD_KEY } },
]

/** The role and two of three tokens. */
const PIECES_SHOWN = 3
export const SHOWN = 'all is'
export const AFTER_CONTENT: Case[] = [
  { name: 'dies', fault: { dieAfterChunks: PIECES_SHOWN } },
  { name: 'is reset', fault: { dieAfterChunks: PIECES_SHOWN, reset: true } },
  { name: 'stalls', fault: { stallAfterChunks: PIECES_SHOWN } },
  { name: 'is half-open', fault: { halfOpenAfterChunks: PIECES_SHOWN } },
  { name: 'sends garbage', fault: { garbageAfterChunks: PIECES_SHOWN } },
  { name: 'reports an error', fault: { errorAfterChunks: PIECES_SHOWN } },
  {
    name: 'reports an error beside choices',
    fault: { errorAfterChunks: PIECES_SHOWN, errorBesideChoices: true },
  },
]

export const HARMLESS: Case[] = [
  { name: 'splits characters, lines and events', fault: { splitEvery: [1, 2, 3] } },
  { name: 'sends bytes after its response', fault: { extraBytes: 'HTTP/1.1 400 Bad Request\r\n\r\n' } },
  { name: 'ends lines with CRLF', fault: { crlf: true }, only: 'stream' },
  { name: 'sends comments between events', fault: { comments: true }, only: 'stream' },
  { name: 'sends no [DONE]', fault: { noDone: true }, only: 'stream' },
  { name: 'reports its usage with the finish reason', fault: { usageWithFinish: true }, only: 'stream' },
  { name: 'reports no usage', fault: { noUsage: true } },
  { name: 'sends 500 chunks without content first', fault: { emptyChunks: 500 }, only: 'stream' },
]

/**
 * The outcomes that the backend's call may have. The router stops a call that waits; any other may have sent it all by
 * then.
 */
function endsOf(fault: Fault = {}): BackendCall['outcome'][] {
  if (fault.halfOpenAfterChunks !== undefined) return ['running']
  const waits = fault.hang || fault.firstByteDelayMs !== undefined || fault.stallAfterChunks !== undefined
  return waits ? ['aborted'] : ['aborted', 'completed']
}

function callOf(fault: Fault | undefined): string {
  const ends = endsOf(fault)
  if (ends.includes('running')) return 'called once, never learns'
  return ends.length === 1 ? 'called once, stopped' : 'called once'
}

/**
 * In order. A router that was slow to accept may have called the same one before it learned that another took the job.
 */
const distinct = (calls: BackendCall[]) => [...new Set(calls.map(({ backend }) => backend))]

interface Observed {
  lane: Lane
  seen: Seen
}

export function promiseFailover(stage: () => Stage, page: FaultPageSection): void {
  function inBothModes(cases: Case[]): (Case & { mode: Mode })[] {
    const modes = ['stream', 'plain'] as const
    return cases.flatMap((row) =>
      modes.filter((mode) => !row.only || row.only === mode).map((mode) => ({ ...row, mode })),
    )
  }

  /** All cases at once, because most of them wait; each test then looks at its own. */
  function observeAll<Row extends Case & { mode: Mode }>(rows: Row[]): (row: Row) => Promise<Observed> {
    const observed = new Map<Row, Promise<Observed>>()
    beforeAll(() => {
      for (const row of rows) observed.set(row, observe(row))
    })
    return (row) => observed.get(row)!
  }

  async function observe({ fault, group, mode }: Case & { mode: Mode }): Promise<Observed> {
    const { caller, edges, fail, lane: take } = stage()
    const lane = take(group)
    if (fault) fail(lane.first, fault)
    const seen = await requestChat({
      url: edges[0],
      key: caller.key,
      model: lane.model,
      stream: mode === 'stream',
      content: QUESTION,
    }).over
    return { lane, seen }
  }

  async function expectComplete(seen: Seen, mode: Mode): Promise<void> {
    expect(seen).toMatchObject({ error: null, text: REPLY, finishReason: 'stop', complete: true, errorEvent: false })
    expect(seen.done).toBe(mode === 'stream')
  }

  /** Nobody goes on generating for nothing; only one that has lost its connection cannot know. */
  async function expectStopped(call: BackendCall | undefined, fault: Fault | undefined): Promise<void> {
    const ends = endsOf(fault)
    if (call) await expect.poll(() => ends.includes(call.outcome), SOON).toBe(true)
  }

  /** Expects one row, of the backend that responded, with that backend's own figures and their price. */
  async function expectMetered(requestId: string, lane: Lane, by: BackendCall): Promise<LedgerRow> {
    const row = await stage().row(requestId)
    expect(row).toMatchObject({ reporter: 'edge', outcome: 'completed', delivered: true, backend: by.backend })
    expect(row.charge).toBe((row.promptTokens + row.completionTokens) * 1_000)
    if (by.usage) {
      const { prompt_tokens: promptTokens, completion_tokens: completionTokens } = by.usage
      expect(row).toMatchObject({ promptTokens, completionTokens, estimated: false })
    }
    expect(await stage().rows(lane)).toHaveLength(1)
    return row
  }

  describe('a first backend that fails before content is not noticed', () => {
    const cases = inBothModes(BEFORE_CONTENT)
    const observed = observeAll(cases)
    test.each(cases)('$name ($mode)', async (row) => {
      const { lane, seen } = await observed(row)
      await expectComplete(seen, row.mode)
      const calls = stage().calls(lane)
      expect(distinct(calls)).toEqual(row.fault ? [lane.first, lane.second] : [lane.second])
      const failed = calls.find(({ backend }) => backend === lane.first)
      const served = calls.find(({ backend, outcome }) => backend === lane.second && outcome === 'completed')
      expect(served?.requestId).toBe(seen.requestId)
      await expectStopped(failed, row.fault)
      await expectMetered(seen.requestId!, lane, served!)
      const first = failed ? `first: ${callOf(row.fault)}` : 'first: not reached'
      page.row(
        row.name,
        row.mode,
        'the whole response of the second',
        `${first}; second: called once`,
        'once, the second, its own figures',
      )
    })
  })

  describe('the client learns of a backend that fails after content, and no other backend is called', () => {
    const cases = inBothModes(AFTER_CONTENT.map((row) => ({ ...row, only: 'stream' as const })))
    const observed = observeAll(cases)
    test.each(cases)('$name', async (row) => {
      const { lane, seen } = await observed(row)
      expect(seen).toMatchObject({ status: 200, text: SHOWN, complete: false, done: false, errorEvent: true })
      expect(seen.error).toBeInstanceOf(Error)
      const calls = stage().calls(lane)
      expect(distinct(calls)).toEqual([lane.first])
      await expectStopped(calls[0], row.fault)
      const ledger = await stage().row(seen.requestId!)
      expect(ledger).toMatchObject({
        outcome: 'backend_failed',
        delivered: false,
        backend: lane.first,
        completionTokens: 2,
      })
      expect(ledger.charge).toBe((ledger.promptTokens + 2) * 1_000)
      page.row(
        `${row.name} after two tokens`,
        row.mode,
        'two tokens, then an error event, never `[DONE]`',
        `first: ${callOf(row.fault)}; second: not called`,
        'once, the two tokens shown',
      )
    })
  })

  describe('behaviour that only looks like a fault does no harm', () => {
    const cases = inBothModes(HARMLESS)
    const observed = observeAll(cases)
    test.each(cases)('$name ($mode)', async (row) => {
      const { lane, seen } = await observed(row)
      await expectComplete(seen, row.mode)
      const calls = stage().calls(lane)
      expect(distinct(calls)).toEqual([lane.first])
      const ledger = await expectMetered(seen.requestId!, lane, calls[0]!)
      expect(ledger).toMatchObject({ estimated: row.fault?.noUsage ?? false, completionTokens: 3 })
      expect(seen.usage).toMatchObject({ prompt_tokens: ledger.promptTokens, completion_tokens: 3 })
      const figures = ledger.estimated ? 'counted, marked estimated' : 'its own figures'
      page.row(
        row.name,
        row.mode,
        'the whole response of the first',
        'first: called once; second: not called',
        `once, the first, ${figures}`,
      )
    })
  })

  test("the request's own fault is reported at once, counts against no backend and costs nothing", async () => {
    const { caller, edges, fail, lane: take, calls, rows } = stage()
    const lane = take()
    fail(lane.first, { status: 400, body: '{"error":{"message":"unknown role"}}' })
    const seen = await requestChat({ url: edges[0], key: caller.key, model: lane.model, stream: true }).over
    expect(seen.error).toMatchObject({ status: 400, error: { message: 'unknown role' } })
    expect(calls(lane)).toHaveLength(1)
    page.row('returns 400', 'stream', '400 with its words', 'first: called once; second: not called', 'nothing')
    expect(await rows(lane)).toEqual([])
  })

  test('when every backend fails, the client reads the documented words, and nothing is billed', async () => {
    const { caller, edges, fail, lane: take, calls, rows } = stage()
    const lane = take()
    fail(lane.first, { status: 500 })
    fail(lane.second, { disconnect: true })
    const seen = await requestChat({ url: edges[0], key: caller.key, model: lane.model, stream: true }).over
    expect(seen).toMatchObject({ status: 503, text: '', error: expect.any(Error) })
    // Nested, as the official client reads it.
    expect(seen.refusal).toEqual({
      error: {
        code: 'UPSTREAMS_EXHAUSTED',
        type: 'server_error',
        message: expect.any(String),
        param: null,
        tier: lane.model,
        attempted: [lane.first, lane.second],
      },
    })
    expect(new Set(calls(lane).map(({ backend }) => backend))).toEqual(new Set([lane.first, lane.second]))
    page.row(
      'returns 500, and the second closes the connection',
      'stream',
      '503 `UPSTREAMS_EXHAUSTED`',
      'both called',
      'nothing',
    )
    expect(await rows(lane)).toEqual([])
  })
}
