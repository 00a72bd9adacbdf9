/**
 * Strangers flood one edge, many at once and without a pause. They use made-up keys that look right, request new guest
 * keys, and begin large bodies that they never end. Ends by itself; the requests that it left open are closed.
 */

import { randomBytes } from 'node:crypto'
import { Agent, request, type RequestOptions } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  ACCOUNT_TAG_LENGTH,
  formatKey,
  KEY_ID_LENGTH,
  KEY_SECRET_LENGTH,
  randomBase62,
} from '@gateway/contracts/api-key'
import type { Stage } from '../stage/open-stage.ts'

/** The number of strangers of each kind. */
const STRANGERS = 12
/** Two cores carry the gateway, its servers and the flood: enough to fill queues, and not to starve the checkers. */
const PAUSE_MS = 25
const ENDLESS_BYTES = 20 * 1024 * 1024
const FIRST_BYTES = 256 * 1024

/** Resolves to a summary of the responses, in words. */
export async function flooded({ edgeUrls }: Stage, edge: 0 | 1, forMs: number): Promise<string> {
  const untilMs = Date.now() + forMs
  const url = edgeUrls[edge]
  const agent = new Agent({ keepAlive: true })
  const responses = new Map<string, number>()
  const strangers = [requestWithMadeUpKey, mintForNewDevice, beginLargeBody].flatMap((sendRequest) =>
    Array.from({ length: STRANGERS }, async () => {
      while (Date.now() < untilMs) {
        const reply = await sendRequest(url, agent, untilMs)
        responses.set(reply, (responses.get(reply) ?? 0) + 1)
        await sleep(PAUSE_MS)
      }
    }),
  )
  await Promise.all(strangers)
  agent.destroy()
  return [...responses].map(([reply, times]) => `${times} × ${reply}`).join(', ')
}

type Send = (url: string, agent: Agent, untilMs: number) => Promise<string>

const requestWithMadeUpKey: Send = (url, agent, untilMs) =>
  send(`${url}/v1/chat/completions`, agent, untilMs, madeUpKey(), JSON.stringify({ messages: SAY_NOTHING }))

const mintForNewDevice: Send = (url, agent, untilMs) =>
  send(
    `${url}/v1/keys/guest`,
    agent,
    untilMs,
    undefined,
    JSON.stringify({ device_id: randomBytes(12).toString('hex') }),
  )

const beginLargeBody: Send = (url, agent, untilMs) =>
  send(`${url}/v1/chat/completions`, agent, untilMs, madeUpKey(), Buffer.alloc(FIRST_BYTES, ' '), ENDLESS_BYTES)

const SAY_NOTHING = [{ role: 'user', content: 'Say: nothing' }]

function madeUpKey(): string {
  const random = (length: number) => randomBase62(length, randomBytes)
  return formatKey({
    keyId: random(KEY_ID_LENGTH),
    accountTag: random(ACCOUNT_TAG_LENGTH),
    secret: random(KEY_SECRET_LENGTH),
  })
}

/** The response's status, or `no answer`. A body that is announced longer than it is stays open until then. */
function send(
  url: string,
  agent: Agent,
  untilMs: number,
  key: string | undefined,
  body: string | Buffer,
  announcedBytes?: number,
): Promise<string> {
  return new Promise((resolve) => {
    const options: RequestOptions = {
      method: 'POST',
      agent,
      signal: AbortSignal.timeout(Math.max(1, untilMs - Date.now())),
      headers: {
        'content-type': 'application/json',
        'content-length': announcedBytes ?? Buffer.byteLength(body),
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      },
    }
    const sent = request(url, options)
    sent.on('error', () => resolve('no answer'))
    sent.once('response', (response) => {
      response.resume().once('close', () => {
        if (announcedBytes !== undefined) sent.destroy()
        resolve(String(response.statusCode))
      })
    })
    if (announcedBytes === undefined) sent.end(body)
    else sent.write(body)
  })
}
