/**
 * What clients are promised when the gateway's own processes are killed or frozen: at every stage of a request, half of
 * a batch is on the router that it happens to, and nobody is told who.
 */

import type { BackendCall } from '@gateway/testing/backend'
import type { FaultPageSection } from '@gateway/testing/fault-page'
import { afterEach, describe, expect, test } from 'vitest'
import { ANSWER, askChat, type Asked, QUESTION, type Seen } from './ask.ts'
import type { Lane } from './lanes.ts'
import { SOON, type Stage } from './stage.ts'

/** Enough that some are on either router: all on one has a chance of 1 : 8 million. */
const BATCH = 24
const VICTIM = 'router-1'

export function promiseSurvival(stage: () => Stage, page: FaultPageSection): void {
  /** Half plain, half streamed where both are asked for, at both edges. */
  function askMany(lane: Lane, modes: 'both' | 'stream', content = QUESTION, count = BATCH): Asked[] {
    const { caller, edges } = stage()
    return Array.from({ length: count }, (_, index) => {
      const stream = modes === 'stream' || index % 4 < 2
      return askChat({ url: edges[index % 2]!, key: caller.key, model: lane.model, stream, content })
    })
  }

  const over = (asked: Asked[]) => Promise.all(asked.map((one) => one.over))
  const victim = () => stage().cluster.process(VICTIM)
  const backAgain = () => Promise.all(stage().cluster.processes.map((process) => process.ready()))
  const aborted = (lane: Lane) =>
    stage()
      .calls(lane)
      .filter(({ outcome }) => outcome === 'aborted')
  const running = (lane: Lane) =>
    stage()
      .calls(lane)
      .filter(({ outcome }) => outcome === 'running')

  const requests = (calls: BackendCall[]) => new Set(calls.map(({ requestId }) => requestId))

  /** A router that was slow to accept may have begun before it heard that another had: that call was soon stopped. */
  function furthest(lane: Lane): BackendCall[] {
    const calls = stage()
      .calls(lane)
      .toSorted((a, b) => b.chunksSent - a.chunksSent)
    return [...requests(calls)].map((id) => calls.find(({ requestId }) => requestId === id)!)
  }

  async function expectAllWhole(all: Seen[], text = ANSWER): Promise<void> {
    for (const seen of all) expect(seen).toMatchObject({ error: null, text, whole: true, errorEvent: false })
  }

  /** Each request once, as the edge saw it end. */
  async function expectEachMeteredOnce(lane: Lane, all: Seen[], tokens: number): Promise<void> {
    for (const { requestId } of all) {
      const row = await stage().row(requestId!)
      expect(row).toMatchObject({ reporter: 'edge', outcome: 'completed', completionTokens: tokens, estimated: false })
      expect(row.charge).toBe((row.promptTokens + tokens) * 1_000)
    }
    expect(await stage().rows(lane)).toHaveLength(all.length)
  }

  /** The broken ones, of which there are some, and the whole ones, of which there are some too. */
  function partition(all: Seen[]): { broken: Seen[]; whole: Seen[] } {
    const [broken, whole] = [all.filter((seen) => !seen.whole), all.filter((seen) => seen.whole)]
    expect(broken.length).toBeGreaterThan(0)
    expect(whole.length).toBeGreaterThan(0)
    return { broken, whole }
  }

  describe('a router', () => {
    afterEach(async () => {
      victim().kill('SIGCONT')
      await backAgain()
    }, 60_000)

    test.each(['frozen', 'killed'] as const)('that is %s before it accepts a job is not noticed', async (how) => {
      const lane = stage().lane('lone')
      victim().kill('SIGSTOP')
      const asked = askMany(lane, 'both')
      if (how === 'killed') victim().kill('SIGKILL')
      const all = await over(asked)
      await expectAllWhole(all)
      victim().kill('SIGCONT')
      await expect.poll(() => running(lane), SOON).toEqual([])
      await expectEachMeteredOnce(lane, all, 3)
      page.row(
        `a router is ${how} before it accepts`,
        'both',
        'the whole answer',
        'each request; what a frozen one still has of them is stopped when it wakes',
        'each once, completed',
      )
    })

    test.each(['frozen', 'killed'] as const)('that is %s before its first content is not noticed', async (how) => {
      const lane = stage().lane('lone')
      stage().fail(lane.first, { firstByteDelayMs: 2_500 })
      const asked = askMany(lane, 'both')
      await expect.poll(() => requests(stage().calls(lane)).size, SOON).toBe(BATCH)
      victim().kill(how === 'killed' ? 'SIGKILL' : 'SIGSTOP')
      const all = await over(asked)
      victim().kill('SIGCONT')
      await expectAllWhole(all)
      await expect.poll(() => running(lane), SOON).toEqual([])
      const repeated = stage().calls(lane).length - BATCH
      expect(repeated).toBeGreaterThan(0)
      if (how === 'killed') expect(aborted(lane).length).toBeGreaterThan(0)
      await expectEachMeteredOnce(lane, all, 3)
      page.row(
        `a router is ${how} after it accepted, before content`,
        'both',
        'the whole answer, some seconds later',
        `those of the ${how} router twice, the others once`,
        'each once, completed',
      )
    })

    test('that is killed mid-stream breaks its own streams with an error event, and no others', async () => {
      const lane = stage().lane('lone')
      stage().fail(lane.first, { paceMs: 500 })
      const asked = askMany(lane, 'stream', 'Say: one two three four five six')
      await expect.poll(() => asked.every(({ seen }) => seen.text !== ''), SOON).toBe(true)
      victim().kill('SIGKILL')
      const { broken, whole } = partition(await over(asked))
      await expectAllWhole(whole, 'one two three four five six')
      for (const seen of broken)
        expect(seen).toMatchObject({ status: 200, done: false, errorEvent: true, finishReason: null })
      const idsOf = (all: Seen[]) => all.map(({ requestId }) => requestId)
      await expect.poll(() => [...requests(aborted(lane))], SOON).toEqual(expect.arrayContaining(idsOf(broken)))
      for (const { requestId, text } of broken) {
        const row = await stage().row(requestId!)
        expect(row).toMatchObject({ reporter: 'edge', outcome: 'router_lost', delivered: false, estimated: true })
        // One event a token, and one for the role.
        expect(Math.abs(row.completionTokens - text.trim().split(' ').length)).toBeLessThanOrEqual(1)
      }
      expect(await stage().rows(lane)).toHaveLength(BATCH)
      page.row(
        'a router is killed mid-stream',
        'stream',
        'its streams: an error event, never `[DONE]`; the others: the whole answer',
        'its calls are aborted at once',
        'each once; its streams: what was shown, marked estimated',
      )
    })

    test('that stands still for a second is a pause', async () => {
      const lane = stage().lane('lone')
      stage().fail(lane.first, { paceMs: 250 })
      const asked = askMany(lane, 'stream', 'Say: one two three four five six')
      await expect.poll(() => asked.every(({ seen }) => seen.text !== ''), SOON).toBe(true)
      victim().kill('SIGSTOP')
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      victim().kill('SIGCONT')
      const all = await over(asked)
      await expectAllWhole(all, 'one two three four five six')
      await expectEachMeteredOnce(lane, all, 6)
      page.row(
        'a router stands still for a second mid-stream',
        'stream',
        'the whole answer, after a pause',
        'each request once',
        'each once, completed',
      )
    })

    test('that is frozen mid-stream breaks its own streams, and stops their backends when it wakes', async () => {
      const lane = stage().lane('lone')
      stage().fail(lane.first, { paceMs: 1_000 })
      const asked = askMany(lane, 'stream', 'Say: one two three four five six seven eight')
      await expect.poll(() => asked.every(({ seen }) => seen.text !== ''), SOON).toBe(true)
      victim().kill('SIGSTOP')
      await expect.poll(() => asked.some(({ seen }) => seen.errorEvent), SOON).toBe(true)
      victim().kill('SIGCONT')
      const { broken, whole } = partition(await over(asked))
      await expectAllWhole(whole, 'one two three four five six seven eight')
      for (const seen of broken) expect(seen).toMatchObject({ done: false, errorEvent: true })
      await expect.poll(() => running(lane), SOON).toEqual([])
      // What the woken router reports of them is outranked by what the edge saw.
      for (const { requestId } of broken) {
        expect(await stage().row(requestId!)).toMatchObject({ reporter: 'edge', outcome: 'router_lost' })
      }
      expect(await stage().rows(lane)).toHaveLength(BATCH)
      page.row(
        'a router is frozen mid-stream',
        'stream',
        'its streams: an error event, never `[DONE]`; the others: the whole answer',
        'its calls are aborted when it wakes',
        'each once; its streams: what was shown, marked estimated',
      )
    })

    test('that is killed between the last content and the end never makes it look like a good end', async () => {
      const lane = stage().lane('lone')
      // Role, three tokens, finish reason, usage; the goodbye does not come.
      stage().fail(lane.first, { stallAfterChunks: 6 })
      const asked = askMany(lane, 'stream')
      await expect.poll(() => asked.every(({ seen }) => seen.finishReason !== null), SOON).toBe(true)
      victim().kill('SIGKILL')
      const all = await over(asked)
      const broken = all.filter(({ done }) => !done)
      expect(broken.length).toBeGreaterThan(0)
      for (const seen of all) expect(seen).toMatchObject({ text: ANSWER, errorEvent: !seen.done })
      for (const { requestId } of broken) {
        expect(await stage().row(requestId!)).toMatchObject({ outcome: 'router_lost', delivered: false })
      }
      for (const { requestId, done } of all) {
        if (done) expect(await stage().row(requestId!)).toMatchObject({ outcome: 'completed', completionTokens: 3 })
      }
      expect(await stage().rows(lane)).toHaveLength(BATCH)
      page.row(
        'a router is killed between the last content and the end',
        'stream',
        'its streams: all the content, then an error event, never `[DONE]`',
        'each request once',
        'each once; its streams: what was shown, marked estimated',
      )
    })
  })

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
      await expect.poll(() => requests(aborted(lane)).size, SOON).toBe(8)
      for (const call of stage().calls(lane)) expect(call.endedAtMs! - killedAtMs).toBeLessThan(8_000)
      for (const call of furthest(lane)) await expectBilledAsGenerated(call, 'edge_lost')
      await expectAllWhole([await atOther.over], 'a b c d e f g h i j k l')
      await cluster.process('edge-2').ready()
      page.row(
        'an edge is killed mid-stream',
        'stream',
        'its clients: a broken connection; the others: nothing',
        'aborted within seconds',
        'each once, by its router: `edge_lost`, as generated',
      )
      page.note(`Backends of a killed edge were stopped after ${secondsUntilEnd(lane, killedAtMs)} s.`)
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
      await expect.poll(() => requests(aborted(lane)).size, SOON).toBe(2)
      for (const call of furthest(lane)) {
        expect(call.endedAtMs! - leftAtMs).toBeLessThan(3_000)
        await expectBilledAsGenerated(call, 'client_gone')
      }
      page.row('the client leaves', 'stream', '–', 'aborted within 3 s', 'once: `client_gone`, as generated')
      page.note(`Backends of clients that left were stopped after ${secondsUntilEnd(lane, leftAtMs)} s.`)
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
      await expect.poll(() => running(lane), SOON).toEqual([])
      expect(stage().calls(lane)[0]!.endedAtMs! - leftAtMs).toBeLessThan(3_000)
      expect(await stage().rows(lane)).toEqual([])
      page.row('the client leaves', 'plain, before the answer', '–', 'aborted within 3 s', 'nothing')
    })
  })

  async function expectBilledAsGenerated(call: BackendCall, outcome: string): Promise<void> {
    const row = await stage().row(call.requestId!)
    expect(row).toMatchObject({ reporter: 'router', outcome, delivered: false, estimated: true })
    // One chunk a token after the role; the last may have been on its way.
    expect(Math.abs(row.completionTokens - (call.chunksSent - 1))).toBeLessThanOrEqual(2)
    expect(row.charge).toBe((row.promptTokens + row.completionTokens) * 1_000)
  }

  function secondsUntilEnd(lane: Lane, sinceMs: number): string {
    return (
      Math.max(
        ...stage()
          .calls(lane)
          .map((call) => call.endedAtMs! - sinceMs),
      ) / 1_000
    ).toFixed(1)
  }
}
