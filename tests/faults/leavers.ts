/**
 * Promises to backends and the ledger when the receivers of a response are gone. Edges die, and clients leave, one by
 * one or hundreds at once.
 */

import type { FaultPageSection } from '@gateway/testing/fault-page'
import { openSlowReader, type SlowReader } from '@gateway/testing/slow-reader'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { requestChat } from './request-chat.ts'
import {
  callsThat,
  expectAllComplete,
  expectBilledAsGenerated,
  furthest,
  over,
  requests,
  secondsUntilEnd,
} from './batch.ts'
import { SOON, type Stage } from './stage.ts'

const SLOW_READERS = 240
const LATE_LEAVERS = 125
/** Of 16 KiB: from half a megabyte to more than the system's buffers hold. */
const FEWEST_EVENTS = 32
const MORE_EVENTS = 2
const STOPPED_WITHIN_MS = 10_000

export function promiseLeavers(stage: () => Stage, page: FaultPageSection): void {
  describe('an edge', () => {
    test('that is killed mid-stream leaves no backend working and the other edge alone; routers meter its streams', async () => {
      const lane = stage().lane('lone')
      stage().fail(lane.first, { paceMs: 1_000 })
      const { caller, edges, cluster } = stage()
      const options = {
        url: edges[1],
        key: caller.key,
        model: lane.model,
        stream: true,
        content: 'Say: a b c d e f g h i j k l',
      }
      const requested = Array.from({ length: 8 }, () => requestChat(options))
      const otherLane = stage().lane('lone')
      stage().fail(otherLane.first, { paceMs: 300 })
      const atOther = requestChat({ ...options, url: edges[0], model: otherLane.model })
      await expect.poll(() => [...requested, atOther].every(({ seen }) => seen.text !== ''), SOON).toBe(true)
      cluster.process('edge-2').kill('SIGKILL')
      const killedAtMs = Date.now()
      const all = await over(requested)
      for (const seen of all) expect(seen).toMatchObject({ complete: false, done: false })
      await expect.poll(() => requests(callsThat(stage(), lane, 'aborted')).size, SOON).toBe(8)
      for (const call of stage().calls(lane)) expect(call.endedAtMs! - killedAtMs).toBeLessThan(8_000)
      for (const call of furthest(stage(), lane)) await expectBilledAsGenerated(stage(), call, 'edge_lost')
      await expectAllComplete([await atOther.over], 'a b c d e f g h i j k l')
      await cluster.process('edge-2').ready()
      page.row(
        'an edge is killed mid-stream',
        'stream',
        'its clients: a broken connection; the others: nothing',
        'aborted within seconds',
        'each once, by its router: `edge_lost`, as generated',
      )
      page.note(`Backends of a killed edge were stopped after ${secondsUntilEnd(stage(), lane, killedAtMs)} s.`)
    })
  })

  describe('a client that leaves', () => {
    test('mid-stream stops its backend within three seconds, and is billed for the generated part', async () => {
      const lane = stage().lane('lone')
      stage().fail(lane.first, { paceMs: 300 })
      const { caller, edges } = stage()
      const leaving = new AbortController()
      const leavers = edges.map((url) =>
        requestChat({
          url,
          key: caller.key,
          model: lane.model,
          stream: true,
          content: 'Say: a b c d e f g h i j k l m n o p q r s t',
          signal: leaving.signal,
        }),
      )
      await expect.poll(() => leavers.every(({ seen }) => seen.text.length > 2), SOON).toBe(true)
      leaving.abort()
      const leftAtMs = Date.now()
      await over(leavers)
      await expect.poll(() => requests(callsThat(stage(), lane, 'aborted')).size, SOON).toBe(2)
      for (const call of furthest(stage(), lane)) {
        expect(call.endedAtMs! - leftAtMs).toBeLessThan(3_000)
        await expectBilledAsGenerated(stage(), call, 'client_gone')
      }
      page.row('the client leaves', 'stream', '–', 'aborted within 3 s', 'once: `client_gone`, as generated')
      page.note(`Backends of clients that left were stopped after ${secondsUntilEnd(stage(), lane, leftAtMs)} s.`)
    })

    test.each([
      ['plain, before the response', false],
      ['stream, before content', true],
    ])('(%s) stops its backend within three seconds, and is billed the prompt', async (request, stream) => {
      const lane = stage().lane('lone')
      stage().fail(lane.first, { hang: true })
      const { caller, edges } = stage()
      const leaving = new AbortController()
      const leaver = requestChat({
        url: edges[0],
        key: caller.key,
        model: lane.model,
        stream,
        signal: leaving.signal,
      })
      await expect.poll(() => stage().calls(lane).length, SOON).toBeGreaterThan(0)
      leaving.abort()
      const leftAtMs = Date.now()
      await leaver.over
      await expect.poll(() => callsThat(stage(), lane, 'running'), SOON).toEqual([])
      const call = stage().calls(lane)[0]!
      expect(call.endedAtMs! - leftAtMs).toBeLessThan(3_000)
      const row = await stage().row(call.requestId!)
      expect(row).toMatchObject({
        reporter: 'edge',
        outcome: 'client_gone',
        delivered: false,
        estimated: true,
        completionTokens: 0,
      })
      expect(row.promptTokens).toBeGreaterThan(0)
      expect(await stage().rows(lane)).toHaveLength(1)
      page.row('the client leaves', request, '–', 'aborted within 3 s', 'once: `client_gone`, the prompt, estimated')
    })
  })

  test(`${SLOW_READERS} slow readers that leave at the same moment stop their backends within seconds`, async () => {
    const { caller, edges, endless, lane: take, rows } = stage()
    const lane = take('endless')
    const opening = Array.from({ length: SLOW_READERS }, (_, index) =>
      openSlowReader({ url: edges[index % 2]!, key: caller.key, model: lane.model }),
    )
    const readers = await allOpen(opening)
    await untilHeldUp()
    expect(endless.running).toBe(SLOW_READERS)

    // Half of them leave in the way that is hardest to notice: bytes wait that the client does not take.
    readers.forEach((reader, index) => (index % 4 < 2 ? reader.leave() : reader.closeOwnSide()))
    const leftAtMs = performance.now()
    await expect.poll(() => endless.running, SOON).toBe(0)
    const stoppedMs = performance.now() - leftAtMs
    for (const reader of readers) reader.leave()
    expect(stoppedMs).toBeLessThan(STOPPED_WITHIN_MS)
    await expect.poll(() => rows(lane), SOON).toHaveLength(SLOW_READERS)
    for (const row of await rows(lane)) expect(row).toMatchObject({ reporter: 'edge', outcome: 'client_gone' })
    page.row(
      `${SLOW_READERS} slow readers leave at once`,
      'stream',
      '–',
      'aborted within seconds',
      'each once: `client_gone`, as generated',
    )
    page.note(
      `The last of ${SLOW_READERS} slow readers' backends was stopped after ${(stoppedMs / 1_000).toFixed(1)} s.`,
    )
  })

  test(`${LATE_LEAVERS} slow readers that leave when their routers have read the whole response are each metered`, async () => {
    const { caller, edges, endless, lane: take, rows } = stage()
    const lane = take('endless')
    // The lengths differ, so that for some readers only the last pieces and the end wait between router and edge.
    const opening = Array.from({ length: LATE_LEAVERS }, (_, index) =>
      openSlowReader({
        url: edges[index % 2]!,
        key: caller.key,
        model: lane.model,
        content: `${FEWEST_EVENTS + index * MORE_EVENTS} events`,
      }),
    )
    const readers = await allOpen(opening)
    await untilHeldUp()
    const ended = LATE_LEAVERS - endless.running
    expect(ended).toBeGreaterThan(0)
    for (const reader of readers) reader.leave()
    await expect.poll(() => endless.running, SOON).toBe(0)
    await expect.poll(() => rows(lane), SOON).toHaveLength(LATE_LEAVERS)
    for (const row of await rows(lane)) expect(row.completionTokens).toBeGreaterThan(0)
    page.row(
      `${LATE_LEAVERS} slow readers leave, some when the backend has ended`,
      'stream',
      '–',
      'the others: aborted within 3 s',
      'each once, as generated',
    )
  })

  /** Where one is refused, the others leave, so that no later case shares the gateway with them. */
  async function allOpen(opening: Promise<SlowReader>[]): Promise<SlowReader[]> {
    try {
      return await Promise.all(opening)
    } catch (error) {
      for (const opened of opening)
        void opened.then(
          (reader) => reader.leave(),
          () => {},
        )
      throw error
    }
  }

  /** Waits until every response waits for its reader. */
  async function untilHeldUp(): Promise<void> {
    const { endless } = stage()
    for (let before = -1; endless.sentBytes > before;) {
      before = endless.sentBytes
      await sleep(1_000)
    }
  }
}
