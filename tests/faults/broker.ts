/**
 * Promises to clients about the broker between them and their router: its death is a pause, and nobody notices that its
 * messages are small.
 */

import type { FaultPageSection } from '@gateway/testing/fault-page'
import { expect, test } from 'vitest'
import { send } from '../promises/gateway.ts'
import { requestChat } from './request-chat.ts'
import { SOON, type Stage } from './stage.ts'

const STREAMS = 200
/** They end at different times, some while the broker is away. */
const WORDS = [16, 24, 32, 40]
const PACE_MS = 250
/** JSON of which a megabyte is a small part: the broker takes messages of 1 MB. */
const VISION_BYTES = 20_000_000
const IMAGE_BYTES = 10_000_000
const PNG_SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

export function promiseBroker(stage: () => Stage, page: FaultPageSection): void {
  test(`NATS killed and restarted under ${STREAMS} open streams: none fails`, async () => {
    const { caller, edges, cluster, lane: take, fail, calls, row, rows } = stage()
    const lane = take('lone')
    fail(lane.first, { paceMs: PACE_MS })
    const streams = Array.from({ length: STREAMS }, (_, index) => {
      const words = WORDS[index % WORDS.length]!
      const content = `Say: ${Array.from({ length: words }, (_, at) => `w${at}`).join(' ')}`
      const requested = requestChat({
        url: edges[index % 2]!,
        key: caller.key,
        model: lane.model,
        stream: true,
        content,
      })
      return { ...requested, words, text: content.slice('Say: '.length) }
    })
    await expect.poll(() => streams.every(({ seen }) => seen.text !== ''), SOON).toBe(true)
    const stillOpen = streams.filter(({ seen }) => seen.finishReason === null).length
    await cluster.servers.nats.kill('SIGKILL')
    // The cluster starts it again two seconds later.
    const all = await Promise.all(streams.map(({ over }) => over))
    const failed = all.filter(({ complete }) => !complete)
    expect(failed.map(({ error }) => error)).toEqual([])
    streams.forEach(({ text }, index) => expect(all[index]).toMatchObject({ text, done: true, errorEvent: false }))
    const completed = calls(lane).filter(({ outcome }) => outcome === 'completed')
    expect(new Set(completed.map(({ requestId }) => requestId)).size).toBe(STREAMS)
    for (const { requestId, usage } of all) {
      const { completionTokens, outcome } = await row(requestId!)
      expect({ completionTokens, outcome }).toEqual({
        completionTokens: usage!.completion_tokens,
        outcome: 'completed',
      })
    }
    expect(await rows(lane)).toHaveLength(STREAMS)
    const longestPauseMs = Math.max(...all.map((seen) => seen.longestPauseMs))
    const figure = `NATS killed and restarted under ${stillOpen} open streams: the longest pause was ${(longestPauseMs / 1_000).toFixed(1)} s.`
    console.log(figure)
    page.note(figure)
    page.row(
      `NATS is killed and restarted under ${STREAMS} streams`,
      'stream',
      'the whole response, after a pause',
      'each request once',
      'each once, completed',
    )
    await admitsAgain()
  })

  /** New work is refused until usage can be stored again. */
  async function admitsAgain(): Promise<void> {
    const { caller, edges, lane: take } = stage()
    const { model } = take()
    for (const url of edges) {
      const sendRequest = () => requestChat({ url, key: caller.key, model, stream: false }).over
      await expect.poll(async () => (await sendRequest()).complete, SOON).toBe(true)
    }
  }

  test('a vision request of 20 MB reaches its backend whole, through messages of 1 MB', async () => {
    const { caller, edges, lane: take, calls, row } = stage()
    const lane = take()
    const url = `data:image/png;base64,${PNG_SIGNATURE.toString('base64')}${'A'.repeat(VISION_BYTES)}`
    const content = [
      { type: 'text', text: 'Say: seen' },
      { type: 'image_url', image_url: { url } },
    ]
    const body = { model: lane.model, messages: [{ role: 'user', content }] }
    const reply = await send(edges[0], '/v1/chat/completions', { key: caller.key, body })
    expect(reply).toMatchObject({ status: 200, body: { choices: [{ message: { content: 'seen' } }] } })
    const [call] = calls(lane)
    expect(call!.bodyBytes).toBeGreaterThan(VISION_BYTES)
    const { prompt_tokens: promptTokens } = call!.usage as { prompt_tokens: number }
    expect(await row(reply.headers.get('x-request-id')!)).toMatchObject({ outcome: 'completed', promptTokens })
    page.row('a request of 20 MB', 'plain', 'the whole response', 'each byte, once', 'once, its own figures')
  })

  test('an image response of 10 MB reaches its client whole, through messages of 1 MB', async () => {
    const { caller, edges, lane: take, fail, row } = stage()
    const lane = take('images')
    const picture = Buffer.concat([PNG_SIGNATURE, Buffer.alloc((IMAGE_BYTES * 3) / 4, 'pixels')]).toString('base64')
    const usage = { input_tokens: 3, output_tokens: 1_024, total_tokens: 1_027 }
    fail(lane.first, { body: JSON.stringify({ created: 1, data: [{ b64_json: picture }], usage }) })
    const body = { model: lane.model, prompt: 'a cat' }
    const reply = await send(edges[0], '/v1/images/generations', { key: caller.key, body })
    expect(reply.status).toBe(200)
    const [image] = reply.body['data'] as { b64_json: string }[]
    expect(image!.b64_json === picture).toBe(true)
    expect(await row(reply.headers.get('x-request-id')!)).toMatchObject({ outcome: 'completed', charge: 1_027_000 })
    page.row('an image of 10 MB', 'plain', 'each byte', 'called once', 'once, its own figures')
  })
}
