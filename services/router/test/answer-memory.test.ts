/**
 * A backend, or many of them, cannot make a router hold more than its memory bears.
 */

import { expect, test } from 'vitest'
import type { JobHeader } from '@gateway/contracts/job'
import { once } from 'node:events'
import { sendJson, type Answer } from './http-backend.ts'
import { backend, router } from './open.ts'
import { poolOver } from './router-under-test.ts'
import { PNG } from './well-behaved.ts'
import { FREE_BYTES, LARGEST_ANSWER_BYTES } from '../src/answer-memory.ts'

const MIB = 1024 * 1024
const IMAGES: Partial<JobHeader> = { kind: 'images', needs: ['images'], remainingMs: 25_000 }
/** Connections buffer some of what was sent and is not yet read. */
const ON_THE_WAY = 4 * MIB

/** Answers an address, behind which there is a large image; knows how much of images is sent and not yet answered. */
function largeImages(imageBytes: number) {
  const state = { sending: 0, most: 0 }
  const answer: Answer = async (response, request) => {
    if (!request.path.endsWith('.png')) return sendJson(response, 200, { created: 1, data: [{ url: '/1.png' }] })
    const block = Buffer.alloc(64 * 1024)
    response.write(PNG)
    let sent = 0
    for (; sent < imageBytes && !response.destroyed; sent += block.length) {
      state.sending += block.length
      state.most = Math.max(state.most, state.sending)
      if (!response.write(block)) await Promise.race([once(response, 'drain'), once(response, 'close')])
    }
    response.end()
    return void once(response, 'close').then(() => (state.sending -= sent))
  }
  return { state, answer }
}

test('images are fetched as there is room for them, in order, and all of them come', async () => {
  const { state, answer } = largeImages(12 * MIB)
  const a = await backend(answer)
  const under = await router(poolOver([a.url]), {}, { answerBytes: LARGEST_ANSWER_BYTES + 16 * MIB })
  const jobs = Array.from({ length: 8 }, () => under.send(IMAGES, { prompt: 'a cat' }))
  await Promise.all(jobs.map(({ over }) => over))
  for (const job of jobs) expect(job.end?.attempts).toMatchObject([{ outcome: 'served' }])
  // One from the budget, one from the reserve, and of each of the others what is free.
  expect(state.most).toBeLessThan((16 + 2 * 12) * MIB + jobs.length * (FREE_BYTES + ON_THE_WAY))
})

test('an answer that finds no room in its time fails, and blames nobody', async () => {
  let finish = () => {}
  const a = await backend((response, request) => {
    response.write(PNG)
    if (request.path.endsWith('/slow.png')) {
      response.write(Buffer.alloc(MIB))
      finish = () => response.end()
    } else if (request.path.endsWith('/late.png')) response.end(Buffer.alloc(MIB))
    else sendJson(response, 200, {})
  })
  a.answer = imagesBehind(a.answer)
  const timeouts = { connectMs: 1_000, firstByteMs: 20_000, idleMs: 20_000 }
  const under = await router(poolOver([a.url], { backend: { timeouts } }), {}, { answerBytes: LARGEST_ANSWER_BYTES })
  const slow = under.send(IMAGES, { prompt: 'slow' })
  await expect.poll(() => a.seen.length).toBe(2)
  await new Promise((resolve) => setTimeout(resolve, 200))
  const late = await under.ask({ ...IMAGES, remainingMs: 1_000 }, { prompt: 'late' })
  expect(late.failure).toMatchObject({ attempts: [{ outcome: 'out_of_time' }] })
  finish()
  await slow.over
  expect(slow.end?.attempts).toMatchObject([{ outcome: 'served' }])
})

/** The image's address is its prompt's. */
function imagesBehind(files: Answer): Answer {
  return (response, request, socket) =>
    request.path.endsWith('.png')
      ? files(response, request, socket)
      : sendJson(response, 200, { created: 1, data: [{ url: `/${String(request.body.prompt)}.png` }] })
}
