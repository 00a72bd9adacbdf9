/**
 * One client with a live key sends harmful requests. Some break any backend, some are large bodies that are refused
 * once read, and some get responses that never end. The fault reports the harm to others: nothing is allowed.
 *
 * Each ends by itself. Its own requests are in no client log, since it deserves any response.
 */

import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { rpcClient } from '@gateway/rpc/client'
import type { Fault } from '@gateway/stand-ins/backend'
import type { Clients } from '../clients/client.ts'
import type { FaultAction, Poison } from '../plan/faults.ts'
import { HOSTILE } from '../plan/owners.ts'
import { BACKENDS } from '../plan/places.ts'
import type { Stage } from '../stage/open-stage.ts'
import type { Outcome } from './consequence.ts'

const AT_ONCE = 3
const PAUSE_MS = 100
const LOOK_EVERY_MS = 200
/** Backends know the requests by their words. */
const POISON_WORDS = 'This breaks whoever answers it'
export const ENDLESS_WORDS = 'Answer this without end'

const BREAKS: Record<Poison, Fault> = {
  status: { status: 500 },
  json: { truncatedJson: true },
  drop: { disconnect: true },
}

/** The same request again and again. It must not eject a healthy backend for anybody else. */
export async function poisoned(
  stage: Stage,
  { how, edge, forMs }: Extract<FaultAction, { kind: 'poison' }>,
): Promise<Outcome> {
  // The fault before this one may have ejected a backend, and its interval outlasts the fault.
  const outBefore = new Set(await findInState(stage, ['ejected', 'on_trial']))
  const faults = breakAll(stage, { bodyHolds: POISON_WORDS, ...BREAKS[how] })
  const ejected = new Set<string>()
  const untilMs = Date.now() + forMs
  const looking = whileLasting(untilMs, LOOK_EVERY_MS, async () => {
    for (const backend of await findInState(stage, ['ejected'])) if (!outBefore.has(backend)) ejected.add(backend)
  })
  const replies = await repeatRequest(stage, edge, untilMs, (count) => chat(POISON_WORDS, { stream: count % 2 === 0 }))
  await looking
  for (const fault of faults) fault.cancel()
  return { harm: [...ejected].map((backend) => `${backend} was ejected`), note: inWords(replies) }
}

/** A refusal costs the edge the bytes that it has read: as many messages as one request may have, in as many pieces. */
const ITEMS = 20_000
const BETWEEN_BODIES_MS = 25
/** Half of the others' short requests get their response within this. Two cores carry the run. */
const USUAL_WITHIN_MS = 400
/** A machine that has no time is as slow at the edge that nobody attacks. */
const USUAL_OVER_OTHER_EDGE = 3

export async function refusedBodies(
  stage: Stage,
  clients: Clients,
  { edge, forMs }: Extract<FaultAction, { kind: 'refused-bodies' }>,
): Promise<Outcome> {
  const part = { type: 'text', text: 'Say: nothing. '.repeat(6) }
  const messages = Array.from({ length: ITEMS }, () => ({ role: 'user', content: [part, part, part] }))
  // A team pays by allowance, which this model is not in.
  const body = JSON.stringify({ model: 'vendor-model', messages })
  const untilMs = Date.now() + forMs
  const usual = Promise.all([edge, otherOf(edge)].map((probed) => usualTime(clients, probed, untilMs)))
  const replies = new Map<string, number>()
  const sent: Promise<void>[] = []
  await whileLasting(untilMs, BETWEEN_BODIES_MS, async () => {
    sent.push(send(stage, edge, body).then(({ status }) => count(replies, status)))
  })
  const [[usualMs, atOtherEdgeMs]] = await Promise.all([usual, ...sent])
  const wrong = [...replies.keys()].filter((status) => !/^(4\d\d|503)$/.test(status))
  return {
    harm: [
      ...slownessOf(usualMs!, atOtherEdgeMs!),
      ...wrong.map((status) => `a body that was to be refused was answered ${status}`),
    ],
    note: `${inWords(replies)}; others usually waited ${usualMs} ms, and ${atOtherEdgeMs} ms at the other edge`,
  }
}

const otherOf = (edge: 0 | 1): 0 | 1 => (edge === 0 ? 1 : 0)

/** The median of short requests that follow each other. */
async function usualTime(clients: Clients, edge: 0 | 1, untilMs: number): Promise<number> {
  const tookMs: number[] = []
  await whileLasting(untilMs, 0, async () => {
    const requestedAtMs = Date.now()
    await clients.probe(edge)
    tookMs.push(Date.now() - requestedAtMs)
  })
  return tookMs.toSorted((one, other) => one - other)[Math.floor(tookMs.length / 2)] ?? Infinity
}

/** Requests at the other edge went the same ways at the same time, but for the attacked edge. */
export function slownessOf(usualMs: number, atOtherEdgeMs: number): string[] {
  const isSlow = usualMs > Math.max(USUAL_WITHIN_MS, USUAL_OVER_OTHER_EDGE * atOtherEdgeMs)
  return isSlow ? [`half of the short requests took more than ${usualMs} ms, and ${atOtherEdgeMs} ms elsewhere`] : []
}

const CAP_TOKENS = 20
/** More than it can send, a token at a time, while the fault lasts. */
const ENDLESS: Fault = { bodyHolds: ENDLESS_WORDS, ignoresCap: true, text: 'on and '.repeat(5_000), paceMs: 1 }
/** Tokenizers differ, so a router gives some slack before it counts. A backend sends this many in one or two seconds. */
const MOST_EVENTS = 300

/** The cap in a client's request bounds its response, also where the backend ignores it. */
export async function streamedWithoutEnd(
  stage: Stage,
  { edge, forMs }: Extract<FaultAction, { kind: 'endless' }>,
): Promise<Outcome> {
  const faults = breakAll(stage, ENDLESS)
  let mostEvents = 0
  const replies = await repeatRequest(stage, edge, Date.now() + forMs, endlessRequest, (events) => {
    mostEvents = Math.max(mostEvents, events)
  })
  for (const fault of faults) fault.cancel()
  const isBeyond = mostEvents > MOST_EVENTS
  return {
    harm: isBeyond ? [`an answer of at most ${CAP_TOKENS} tokens had ${mostEvents} events`] : [],
    note: `${inWords(replies)}; the longest answer had ${mostEvents} events`,
  }
}

function endlessRequest(number: number): HostileRequest {
  if (number % 2 === 0) return chat(ENDLESS_WORDS, { stream: true, max_tokens: CAP_TOKENS })
  const body = { model: 'chat-one', input: ENDLESS_WORDS, stream: true, max_output_tokens: CAP_TOKENS }
  return { path: '/v1/responses', body: JSON.stringify(body) }
}

interface HostileRequest {
  path: string
  body: string
}

function chat(content: string, more: object): HostileRequest {
  const body = { model: 'chat-one', messages: [{ role: 'user', content }], ...more }
  return { path: '/v1/chat/completions', body: JSON.stringify(body) }
}

async function repeatRequest(
  stage: Stage,
  edge: 0 | 1,
  untilMs: number,
  requestAt: (number: number) => HostileRequest,
  onEvents: (events: number) => void = () => {},
): Promise<Map<string, number>> {
  const replies = new Map<string, number>()
  let calls = 0
  const requester = () =>
    whileLasting(untilMs, PAUSE_MS, async () => {
      const { path, body } = requestAt(calls++)
      const { status, events } = await send(stage, edge, body, path, untilMs)
      count(replies, status)
      onEvents(events)
    })
  await Promise.all(Array.from({ length: AT_ONCE }, requester))
  return replies
}

async function whileLasting(untilMs: number, pauseMs: number, act: () => Promise<void>): Promise<void> {
  while (Date.now() < untilMs) {
    await act()
    await sleep(pauseMs)
  }
}

const RESPONSE_TIMEOUT_MS = 30_000
const agent = new Agent({ keepAlive: true })

/** The response's status, or `no answer`, and the number of its events until its end, or until nobody waits for it any more. */
function send(
  { edgeUrls, keyring }: Stage,
  edge: 0 | 1,
  body: string,
  path = '/v1/chat/completions',
  leaveAtMs = Infinity,
): Promise<{ status: string; events: number }> {
  return new Promise((resolve) => {
    const withinMs = Math.min(RESPONSE_TIMEOUT_MS, Math.max(1, leaveAtMs - Date.now()))
    const sent = request(`${edgeUrls[edge]}${path}`, {
      ...{ method: 'POST', agent, signal: AbortSignal.timeout(withinMs) },
      headers: {
        authorization: `Bearer ${keyring.of(HOSTILE.name).key}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
    })
    let events = 0
    let status = 'no answer'
    sent.on('error', () => resolve({ status, events }))
    sent.once('response', (response) => {
      status = String(response.statusCode)
      response.on('data', (piece: Buffer) => (events += piece.toString('latin1').split('\n\n').length - 1))
      response.on('error', () => {})
      response.once('close', () => resolve({ status, events }))
    })
    sent.end(body)
  })
}

function breakAll({ backends }: Stage, fault: Fault) {
  return BACKENDS.map((name) => backends[name].fail(fault))
}

/** The healthy targets that a router sees in one of these states. */
async function findInState({ bus }: Stage, wanted: string[]): Promise<string[]> {
  const { routers } = await rpcClient('ctl', bus).request('routersShow', {}, { timeoutMs: 5_000 })
  const names = new Set<string>(BACKENDS)
  return routers
    .flatMap(({ backends }) => backends)
    .filter(({ backend, state, models }) => {
      return names.has(backend) && [state, ...models.map((model) => model.state)].some((one) => wanted.includes(one))
    })
    .map(({ backend }) => backend)
}

function count(replies: Map<string, number>, status: string): void {
  replies.set(status, (replies.get(status) ?? 0) + 1)
}

const inWords = (replies: Map<string, number>) =>
  [...replies].map(([status, times]) => `${times} × ${status}`).join(', ')
