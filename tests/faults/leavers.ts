/**
 * What backends and the ledger are promised when those who wait for an answer are gone: edges that die, clients that
 * leave, one by one or hundreds at once.
 */

import type { FaultPageSection } from '@gateway/testing/fault-page'
import { openSlowReader } from '@gateway/testing/slow-reader'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { askChat } from './ask.ts'
import {
  callsThat,
  expectAllWhole,
  expectBilledAsGenerated,
  furthest,
  over,
  requests,
  secondsUntilEnd,
} from './batch.ts'
import { SOON, type Stage } from './stage.ts'

const SLOW_READERS = 240
const STOPPED_WITHIN_MS = 3_000

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
      const asked = Array.from({ length: 8 }, () => askChat(options))
      const otherLane = stage().lane('lone')
      stage().fail(otherLane.first, { paceMs: 300 })
      const atOther = askChat({ ...options, url: edges[0], model: otherLane.model })
      await expect.poll(() => [...asked, atOther].every(({ seen }) => seen.text !== ''), SOON).toBe(true)
      cluster.process('edge-2').kill('SIGKILL')
      const killedAtMs = Date.now()
      const all = await over(asked)
      for (const seen of all) expect(seen).toMatchObject({ whole: false, done: false })
      await expect.poll(() => requests(callsThat(stage(), lane, 'aborted')).size, SOON).toBe(8)
      for (const call of stage().calls(lane)) expect(call.endedAtMs! - killedAtMs).toBeLessThan(8_000)
      for (const call of furthest(stage(), lane)) await expectBilledAsGenerated(stage(), call, 'edge_lost')
      await expectAllWhole([await atOther.over], 'a b c d e f g h i j k l')
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
    test('mid-stream stops its backend within three seconds, and is billed what was generated', async () => {
      const lane = stage().lane('lone')
      stage().fail(lane.first, { paceMs: 300 })
      const { caller, edges } = stage()
      const leaving = new AbortController()
      const leavers = edges.map((url) =>
        askChat({
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

    test('before a plain answer stops its backend within three seconds, and is billed nothing', async () => {
      const lane = stage().lane('lone')
      stage().fail(lane.first, { hang: true })
      const { caller, edges } = stage()
      const leaving = new AbortController()
      const leaver = askChat({
        url: edges[0],
        key: caller.key,
        model: lane.model,
        stream: false,
        signal: leaving.signal,
      })
      await expect.poll(() => stage().calls(lane).length, SOON).toBeGreaterThan(0)
      leaving.abort()
      const leftAtMs = Date.now()
      await leaver.over
      await expect.poll(() => callsThat(stage(), lane, 'running'), SOON).toEqual([])
      expect(stage().calls(lane)[0]!.endedAtMs! - leftAtMs).toBeLessThan(3_000)
      expect(await stage().rows(lane)).toEqual([])
      page.row('the client leaves', 'plain, before the answer', '–', 'aborted within 3 s', 'nothing')
    })
  })

  test(
    `${SLOW_READERS} slow readers that leave at the same moment stop their backends within three seconds`,
    { timeout: 120_000 },
    async () => {
      const { caller, edges, endless, lane: take, rows } = stage()
      const lane = take('endless')
      const opening = Array.from({ length: SLOW_READERS }, (_, index) =>
        openSlowReader({ url: edges[index % 2]!, key: caller.key, model: lane.model }),
      )
      const readers = await Promise.all(opening)
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
      for (const row of await rows(lane)) expect(row).toMatchObject({ reporter: 'router', outcome: 'client_gone' })
      page.row(
        `${SLOW_READERS} slow readers leave at once`,
        'stream',
        '–',
        'aborted within 3 s',
        'each once: `client_gone`, as generated',
      )
      page.note(
        `The last of ${SLOW_READERS} slow readers' backends was stopped after ${(stoppedMs / 1_000).toFixed(1)} s.`,
      )
    },
  )

  /** Every answer waits for its reader. */
  async function untilHeldUp(): Promise<void> {
    const { endless } = stage()
    for (let before = -1; endless.sentBytes > before;) {
      before = endless.sentBytes
      await sleep(1_000)
    }
  }
}
