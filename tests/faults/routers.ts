/**
 * Promises to clients when a router is killed or frozen. At every stage of a request, half of a batch is on that
 * router, and chance decides which half.
 */

import type { FaultPageSection } from '@gateway/testing/fault-page'
import { afterEach, describe, expect, test } from 'vitest'
import { REPLY, type Seen } from './request-chat.ts'
import {
  requestBatch,
  BATCH,
  callsThat,
  expectAllComplete,
  expectEachMeteredOnce,
  over,
  partition,
  requests,
} from './batch.ts'
import { SOON, type Stage } from './stage.ts'

const VICTIM = 'router-1'

export function promiseRouters(stage: () => Stage, page: FaultPageSection): void {
  const victim = () => stage().cluster.process(VICTIM)
  const backAgain = () => Promise.all(stage().cluster.processes.map((process) => process.ready()))

  describe('a router', () => {
    afterEach(async () => {
      victim().kill('SIGCONT')
      await backAgain()
    })

    test.each(['frozen', 'killed'] as const)('that is %s before it accepts a job is not noticed', async (how) => {
      const lane = stage().lane('lone')
      victim().kill('SIGSTOP')
      const requested = requestBatch(stage(), lane, 'both')
      if (how === 'killed') victim().kill('SIGKILL')
      const all = await over(requested)
      await expectAllComplete(all)
      victim().kill('SIGCONT')
      await expect.poll(() => callsThat(stage(), lane, 'running'), SOON).toEqual([])
      await expectEachMeteredOnce(stage(), lane, all, 3)
      page.row(
        `a router is ${how} before it accepts`,
        'both',
        'the whole response',
        'each request; what a frozen one still has of them is stopped when it wakes',
        'each once, completed',
      )
    })

    test.each(['frozen', 'killed'] as const)('that is %s before its first content is not noticed', async (how) => {
      const lane = stage().lane('lone')
      stage().fail(lane.first, { firstByteDelayMs: 2_500 })
      const requested = requestBatch(stage(), lane, 'both')
      await expect.poll(() => requests(stage().calls(lane)).size, SOON).toBe(BATCH)
      victim().kill(how === 'killed' ? 'SIGKILL' : 'SIGSTOP')
      const all = await over(requested)
      victim().kill('SIGCONT')
      await expectAllComplete(all)
      await expect.poll(() => callsThat(stage(), lane, 'running'), SOON).toEqual([])
      const repeated = stage().calls(lane).length - BATCH
      expect(repeated).toBeGreaterThan(0)
      if (how === 'killed') expect(callsThat(stage(), lane, 'aborted').length).toBeGreaterThan(0)
      await expectEachMeteredOnce(stage(), lane, all, 3)
      page.row(
        `a router is ${how} after it accepted, before content`,
        'both',
        'the whole response, some seconds later',
        `those of the ${how} router twice, the others once`,
        'each once, completed',
      )
    })

    test('that is killed mid-stream breaks its own streams with an error event, and no others', async () => {
      const lane = stage().lane('lone')
      stage().fail(lane.first, { paceMs: 500 })
      const requested = requestBatch(stage(), lane, 'stream', 'Say: one two three four five six')
      await expect.poll(() => requested.every(({ seen }) => seen.text !== ''), SOON).toBe(true)
      victim().kill('SIGKILL')
      const { broken, complete } = partition(await over(requested))
      await expectAllComplete(complete, 'one two three four five six')
      for (const seen of broken)
        expect(seen).toMatchObject({ status: 200, done: false, errorEvent: true, finishReason: null })
      const idsOf = (all: Seen[]) => all.map(({ requestId }) => requestId)
      await expect
        .poll(() => [...requests(callsThat(stage(), lane, 'aborted'))], SOON)
        .toEqual(expect.arrayContaining(idsOf(broken)))
      for (const { requestId, text } of broken) {
        const row = await stage().row(requestId!)
        expect(row).toMatchObject({ reporter: 'edge', outcome: 'router_lost', delivered: false, estimated: true })
        // One event a token, and one for the role.
        expect(Math.abs(row.completionTokens - text.trim().split(' ').length)).toBeLessThanOrEqual(1)
      }
      await expect.poll(() => stage().rows(lane), SOON).toHaveLength(BATCH)
      page.row(
        'a router is killed mid-stream',
        'stream',
        'its streams: an error event, never `[DONE]`; the others: the whole response',
        'its calls are aborted at once',
        'each once; its streams: what was shown, marked estimated',
      )
    })

    test('that stands still for a second is a pause', async () => {
      const lane = stage().lane('lone')
      stage().fail(lane.first, { paceMs: 250 })
      const requested = requestBatch(stage(), lane, 'stream', 'Say: one two three four five six')
      await expect.poll(() => requested.every(({ seen }) => seen.text !== ''), SOON).toBe(true)
      victim().kill('SIGSTOP')
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      victim().kill('SIGCONT')
      const all = await over(requested)
      await expectAllComplete(all, 'one two three four five six')
      await expectEachMeteredOnce(stage(), lane, all, 6)
      page.row(
        'a router stands still for a second mid-stream',
        'stream',
        'the whole response, after a pause',
        'each request once',
        'each once, completed',
      )
    })

    test('that is frozen mid-stream breaks its own streams, and stops their backends when it wakes', async () => {
      const lane = stage().lane('lone')
      stage().fail(lane.first, { paceMs: 1_000 })
      const requested = requestBatch(stage(), lane, 'stream', 'Say: one two three four five six seven eight')
      await expect.poll(() => requested.every(({ seen }) => seen.text !== ''), SOON).toBe(true)
      victim().kill('SIGSTOP')
      await expect.poll(() => requested.some(({ seen }) => seen.errorEvent), SOON).toBe(true)
      victim().kill('SIGCONT')
      const { broken, complete } = partition(await over(requested))
      await expectAllComplete(complete, 'one two three four five six seven eight')
      for (const seen of broken) expect(seen).toMatchObject({ done: false, errorEvent: true })
      await expect.poll(() => callsThat(stage(), lane, 'running'), SOON).toEqual([])
      // The edge's report of them outranks the one of the woken router.
      for (const { requestId } of broken) {
        expect(await stage().row(requestId!)).toMatchObject({ reporter: 'edge', outcome: 'router_lost' })
      }
      await expect.poll(() => stage().rows(lane), SOON).toHaveLength(BATCH)
      page.row(
        'a router is frozen mid-stream',
        'stream',
        'its streams: an error event, never `[DONE]`; the others: the whole response',
        'its calls are aborted when it wakes',
        'each once; its streams: what was shown, marked estimated',
      )
    })

    test('that is killed between the last content and the end breaks no response that its client has whole', async () => {
      const lane = stage().lane('lone')
      // Role, three tokens, finish reason, usage; the goodbye does not come.
      stage().fail(lane.first, { stallAfterChunks: 6 })
      const requested = requestBatch(stage(), lane, 'stream')
      await expect.poll(() => requested.every(({ seen }) => seen.text === REPLY), SOON).toBe(true)
      victim().kill('SIGKILL')
      const all = await over(requested)
      const { broken } = partition(all)
      for (const seen of all) {
        const isBroken = broken.includes(seen)
        expect(seen).toMatchObject({ text: REPLY, done: !isBroken, errorEvent: isBroken })
        expect(seen.finishReason).toBe(isBroken ? null : 'stop')
        expect(await stage().row(seen.requestId!)).toMatchObject(
          isBroken ? { outcome: 'router_lost', delivered: false } : { outcome: 'completed', completionTokens: 3 },
        )
      }
      await expect.poll(() => stage().rows(lane), SOON).toHaveLength(BATCH)
      page.row(
        'a router is killed between the last content and the end',
        'stream',
        'its streams: the text without a finish reason, then an error event; the others: the whole response',
        'each request once',
        'each once; its streams: what was shown, marked estimated',
      )
    })
  })
}
