/**
 * For each vendor's behaviour the client gets the complete text once, one end, and exact usage if it requested that. The
 * config's times bear the vendor's silence.
 */

import { VENDORS, type Vendor } from '@gateway/contracts/vendors'
import { describe, expect, test } from 'vitest'
import { openStream, type Reply } from '../http-backend.ts'
import { backend, router } from '../open.ts'
import { poolOver } from '../router-under-test.ts'
import { assembledStream } from './assembled.ts'
import { COUNTED, TEXTS } from './reply-texts.ts'
import { STAND_INS } from './stand-ins.ts'
import { STREAM_BEHAVIOURS, streamOf } from './stream-behaviour.ts'

const vendors = Object.keys(VENDORS) as Vendor[]
const IDLE_MS = 400

/** Its keep-alives one after the other, for longer than the router would wait in silence. */
const slowly =
  (events: string[], keepAlive: string | null): Reply =>
  async (response) => {
    openStream(response)
    for (const one of events) {
      response.write(one)
      const keepAlives = one === keepAlive ? 6 : 0
      for (let at = 0; at < keepAlives; at++) {
        await new Promise((resolve) => setTimeout(resolve, IDLE_MS / 4))
        response.write(one)
      }
    }
    response.end()
  }

async function seenFrom(vendor: Vendor, reply: Reply, includeUsage: boolean) {
  const a = await backend(reply)
  const timeouts = { connectMs: 2_000, firstByteMs: 10_000, idleMs: IDLE_MS }
  const under = await router(
    poolOver([a.url], { backend: { vendor, apiKey: 'key', timeouts }, targets: [{ model: STAND_INS[vendor].model }] }),
  )
  const job = await under.sendRequest({ stream: true, includeUsage, remainingMs: 20_000 })
  expect(job.failure).toBeNull()
  expect(job.end!.attempts).toHaveLength(1)
  return { job, received: assembledStream(job.text()) }
}

describe.each(vendors)('%s', (vendor) => {
  test.each([true, false])('a stream is complete; the client requests usage: %s', async (includeUsage) => {
    const { job, received } = await seenFrom(vendor, STAND_INS[vendor].reply, includeUsage)
    expect(received).toMatchObject({ text: TEXTS.join(''), finishReason: 'stop' })
    expect(job.end!.usage).toMatchObject({ promptTokens: 9, completionTokens: 3, estimated: false })
    expect(received.usage).toEqual(includeUsage ? expect.objectContaining(COUNTED) : undefined)
  })

  test('the times of its config bear its silence', () => {
    const { firstByteMs, idleMs } = VENDORS[vendor].timeouts
    const { first, between } = STREAM_BEHAVIOURS[vendor].silentMs
    expect(firstByteMs).toBeGreaterThanOrEqual(first)
    expect(idleMs).toBeGreaterThanOrEqual(between)
  })
})

/** Anthropic's end and its pings are events of its own dialect. */
const ofChat = vendors
  .filter((vendor) => vendor !== 'anthropic')
  .map((vendor) => [vendor, STREAM_BEHAVIOURS[vendor]] as const)

test.for(ofChat)('%s: a stream without [DONE] is complete after its finish', async ([vendor, behaviour]) => {
  const { received } = await seenFrom(vendor, slowly(streamOf(behaviour, true).slice(0, -1), null), true)
  expect(received).toMatchObject({ text: TEXTS.join(''), finishReason: 'stop', usage: COUNTED })
})

const withKeepAlive = ofChat.filter(([, { keepAlive }]) => keepAlive !== null)
test.for(withKeepAlive)('%s: its keep-alives keep a stream, and no client sees them', async ([vendor, behaviour]) => {
  const { job, received } = await seenFrom(vendor, slowly(streamOf(behaviour, true), behaviour.keepAlive), true)
  expect(received.text).toBe(TEXTS.join(''))
  expect(job.text()).not.toMatch(/^:/m)
})
