/**
 * A backend, or many of them, cannot make a router hold more than its memory bears.
 */

import { expect, test } from 'vitest'
import type { JobHeader } from '@gateway/contracts/job'
import { once } from 'node:events'
import { sendJson, type Reply } from './http-backend.ts'
import { backend, router, SOON } from './open.ts'
import { poolOver } from './router-under-test.ts'
import { PNG } from './well-behaved.ts'
import { LARGEST_RESPONSE_BYTES } from '../src/response-memory.ts'

const MIB = 1024 * 1024
const IMAGES: Partial<JobHeader> = { kind: 'images', needs: ['images'], remainingMs: 120_000 }

/** Returns an address, behind which there is a large image; counts those that were taken whole. */
function largeImages(imageBytes: number) {
  const taken = { complete: 0 }
  const reply: Reply = async (response, request) => {
    if (!request.path.endsWith('.png')) return sendJson(response, 200, { created: 1, data: [{ url: '/1.png' }] })
    const block = Buffer.alloc(64 * 1024)
    response.write(PNG)
    const gone = once(response, 'close')
    for (let sent = 0; sent < imageBytes && !response.destroyed; sent += block.length) {
      if (!response.write(block)) await Promise.race([once(response, 'drain'), gone])
    }
    return response.end(() => taken.complete++)
  }
  return { taken, reply }
}

test('images are fetched as memory allows, in order, and all of them come', async () => {
  const { taken, reply } = largeImages(20 * MIB)
  const a = await backend(reply)
  const under = await router(poolOver([a.url]), {}, { responseBytes: LARGEST_RESPONSE_BYTES + 24 * MIB })
  const jobs = Array.from({ length: 8 }, () => under.send(IMAGES, { prompt: 'a cat' }))
  // Their readers take nothing, so the router keeps the images that it has fetched.
  for (const job of jobs) job.hold()
  await expect.poll(() => taken.complete, SOON).toBeGreaterThan(0)
  await new Promise((resolve) => setTimeout(resolve, 500))
  // One from the reserve, and one at the most from the budget.
  expect(taken.complete).toBeLessThanOrEqual(2)
  for (const job of jobs) job.release()
  await Promise.all(jobs.map(({ over }) => over))
  for (const job of jobs) expect(job.end?.attempts).toMatchObject([{ outcome: 'served' }])
})

test('a response that finds no memory in its time fails, and no backend is marked as failed', async () => {
  let finish = () => {}
  const a = await backend((response, request) => {
    response.write(PNG)
    if (request.path.endsWith('/slow.png')) {
      response.write(Buffer.alloc(MIB))
      finish = () => response.end()
    } else if (request.path.endsWith('/late.png')) response.end(Buffer.alloc(MIB))
    else sendJson(response, 200, {})
  })
  a.reply = imagesBehind(a.reply)
  const timeouts = { connectMs: 1_000, firstByteMs: 60_000, idleMs: 60_000 }
  const under = await router(
    poolOver([a.url], { backend: { timeouts } }),
    {},
    { responseBytes: LARGEST_RESPONSE_BYTES },
  )
  const slow = under.send(IMAGES, { prompt: 'slow' })
  await expect.poll(() => a.seen.length).toBe(2)
  await new Promise((resolve) => setTimeout(resolve, 200))
  const late = await under.sendRequest({ ...IMAGES, remainingMs: 3_000 }, { prompt: 'late' })
  expect(late.failure).toMatchObject({ attempts: [{ outcome: 'out_of_time' }] })
  finish()
  await slow.over
  expect(slow.end?.attempts).toMatchObject([{ outcome: 'served' }])
})

/** The image's address is its prompt's. */
function imagesBehind(files: Reply): Reply {
  return (response, request, socket) =>
    request.path.endsWith('.png')
      ? files(response, request, socket)
      : sendJson(response, 200, { created: 1, data: [{ url: `/${String(request.body.prompt)}.png` }] })
}
