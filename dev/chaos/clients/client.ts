/**
 * Carries out one planned request as its kind of client does, and logs the outcome.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { isConversation, type PlannedRequest } from '../plan/requests.ts'
import type { Projects } from '../stage/open-projects.ts'
import type { Stage } from '../stage/open-stage.ts'
import { requestOverHttp, type Requesting } from './request-over-http.ts'
import { requestWithSdk } from './request-with-sdk.ts'
import type { ClientLog } from './client-log.ts'
import { openAdministering } from './administer.ts'
import { changeKey } from './manage-keys.ts'
import type { Owner } from './owners.ts'
import { converse, type Turn } from './converse.ts'
import { type Question, questionOf } from './question.ts'
import type { Seen } from './seen.ts'

export interface Clients {
  /** Resolves when the request is over. Never throws. */
  carryOut(request: PlannedRequest): Promise<void>
  /** A small request that shows if an edge serves: true when it got a whole response. */
  probe(edge: 0 | 1): Promise<boolean>
  /** Resolves when some slow responses have begun at an edge; `over` when they have ended. */
  beginStreams(edge: 0 | 1): Promise<{ over: Promise<unknown> }>
  /** Resolves when some requests with an `Idempotency-Key` have begun at an edge; `over` when each got a whole response. */
  beginRepeating(edge: 0 | 1): Promise<{ count: number; over: Promise<unknown> }>
  /** Every account sends one request with each key, so that the admission store knows them all. */
  visit(): Promise<void>
  /** Somebody's key is rotated. */
  rotateSomebody(): Promise<void>
  /** A project is made and archived. */
  archiveSomething(): Promise<void>
  /** One more that repeats itself under a key. */
  repeatSomething(): Promise<void>
  /** In the end everybody sends one more request, at both edges. */
  sayFarewell(): Promise<void>
}

const SIP_BYTES = 48 * 1024
const REPEATS_AFTER_MS = 300
const REPEATS_FOR_MS = 60_000
const STREAMS = 4
/** Half a second at the backends' pace. */
const STREAM_WORDS = 100
const PLAIN_BEGINS_WITHIN_MS = 150

export function openClients(stage: Stage, log: ClientLog, projects: Projects | null): Clients {
  const { keyring, edgeUrls } = stage
  let probes = 0
  for (const owner of projects?.owners ?? []) keyring.add(owner)
  const administering = projects && openAdministering(projects, keyring, (owner) => sendShortRequest(owner, 0, 'probe'))

  async function send(
    request: PlannedRequest,
    key: string,
    kind: Seen['kind'] = request.kind,
    onHead: () => void = () => {},
    question: Question = questionOf(request),
  ): Promise<Seen> {
    const requesting: Requesting = { url: edgeUrls[request.edge], key, question, onHead }
    if (kind === 'repeating') requesting.idempotencyKey = request.id
    if (kind === 'leaver') requesting.leave = { at: request.leavesAt, afterMs: request.leaveAfterMs }
    if (kind === 'slow-reader' || requesting.leave?.at === 'sipping') requesting.sipBytes = SIP_BYTES
    const perform = kind === 'sdk-plain' || kind === 'sdk-stream' ? requestWithSdk : requestOverHttp
    return logged({ ...request, kind }, key, (seen) => perform(requesting, seen))
  }

  async function logged(request: Sent, key: string, perform: (seen: Seen) => Promise<void>): Promise<Seen> {
    const seen = unseen(request, key)
    log.sent(seen)
    await perform(seen)
    seen.keyState = keyring.stateFor(key, seen.sentAtMs)
    log.ended(seen)
    return seen
  }

  const conversing = {
    edgeUrls,
    keyOf: (owner: string) => keyring.of(owner).key,
    send: (turn: Turn, question: Question) => send(turn, keyring.of(turn.owner).key, turn.kind, () => {}, question),
    logged,
  }

  /** At one edge and the other in turn, until it gets its response. */
  async function repeat(request: PlannedRequest, onHead?: () => void): Promise<void> {
    const giveUpAtMs = Date.now() + REPEATS_FOR_MS
    for (let turn = request.edge; Date.now() < giveUpAtMs; turn++) {
      const edge = turn % 2 === 0 ? 0 : 1
      const { complete } = await send({ ...request, edge }, keyring.of(request.owner).key, request.kind, onHead)
      if (complete) return
      await sleep(REPEATS_AFTER_MS)
    }
  }

  async function sendShortRequest({ name, key }: Owner, edge: 0 | 1, kind: 'probe' | 'farewell'): Promise<boolean> {
    const seen = await send({ ...SHORT_REQUEST, id: `p${++probes}`, edge, owner: name }, key, kind)
    return seen.complete
  }

  const livingOwners = () => keyring.owners.filter(({ isOver = false }) => !isOver)

  async function change(request: PlannedRequest, action: 'rotate' | 'revoke'): Promise<void> {
    const owner = keyring.of(request.owner)
    if (owner.isChanging) return
    owner.isChanging = true
    const seen = unseen(request, owner.key)
    log.sent(seen)
    const response = await changeKey(keyring, owner, action, edgeUrls, request.edge)
    owner.isChanging = false
    seen.status = response.status
    seen.headAtMs = seen.endedAtMs = Date.now()
    seen.complete = response.status === 200
    if (response.status === null) seen.problem = 'unreachable'
    else if (response.status !== 200) seen.problem = `${response.status} of a ${action}`
    seen.detail = response.status === 200 ? '' : response.detail.slice(0, 500)
    log.ended(seen)
  }

  return {
    async carryOut(request) {
      if (request.kind === 'rotate' || request.kind === 'revoke') return change(request, request.kind)
      if (request.kind === 'repeating') return repeat(request)
      if (isConversation(request.kind)) return converse(conversing, request)
      if (request.kind === 'administer') return administering?.administer(request.chosen)
      if (request.kind !== 'dead-key') return void (await send(request, keyring.of(request.owner).key))
      const { dead } = keyring
      if (dead.length === 0) return
      const { owner, key } = dead[request.chosen % dead.length]!
      await send({ ...request, owner: owner.name }, key)
    },
    probe: (edge) => sendShortRequest(keyring.of('probe'), edge, 'probe'),
    async beginStreams(edge) {
      const { name, key } = keyring.of('probe')
      const streams = Array.from({ length: STREAMS }, () => {
        const request = { ...SHORT_REQUEST, kind: 'stream', id: `p${++probes}`, edge, owner: name } as const
        const { promise: begun, resolve } = Promise.withResolvers<void>()
        const over = send({ ...request, words: STREAM_WORDS }, key, 'stream', resolve)
        return { begunOrOver: Promise.race([begun, over]), over }
      })
      await Promise.all(streams.map(({ begunOrOver }) => begunOrOver))
      return { over: Promise.all(streams.map(({ over }) => over)) }
    },
    async beginRepeating(edge) {
      const owner = keyring.of('probe').name
      const begun = Array.from({ length: STREAMS }, (_, index) => {
        const id = `p${++probes}`
        const { promise, resolve } = Promise.withResolvers<void>()
        // Even ones stream. Of the others, nothing is seen before the end.
        const request = {
          ...SHORT_REQUEST,
          kind: 'repeating',
          id,
          edge,
          owner,
          words: STREAM_WORDS,
          chosen: index,
        } as const
        const over = repeat(request, resolve)
        return { begun: index % 2 === 0 ? Promise.race([promise, over]) : sleep(PLAIN_BEGINS_WITHIN_MS), over }
      })
      await Promise.all(begun.map((one) => one.begun))
      return { count: begun.length, over: Promise.all(begun.map(({ over }) => over)) }
    },
    async visit() {
      for (const owner of livingOwners()) await sendShortRequest(owner, 0, 'probe')
    },
    async rotateSomebody() {
      const teams = keyring.owners.filter(({ kind }) => kind === 'team')
      const { name } = teams[++probes % teams.length]!
      await change({ ...SHORT_REQUEST, kind: 'rotate', id: `p${probes}`, edge: 0, owner: name }, 'rotate')
    },
    archiveSomething: async () => administering?.archiveSomething(),
    async repeatSomething() {
      const id = `p${++probes}`
      await repeat({ ...SHORT_REQUEST, kind: 'repeating', id, edge: 0, owner: keyring.of('probe').name })
    },
    async sayFarewell() {
      for (const owner of livingOwners())
        for (const edge of [0, 1] as const) await sendShortRequest(owner, edge, 'farewell')
    },
  }
}

const SHORT_REQUEST = {
  kind: 'plain',
  way: 'chat',
  model: 'chat-one',
  words: 1,
  includeUsage: false,
  leavesAt: 'waiting',
  leaveAfterMs: 0,
  chosen: 0,
} as const

const KEY_SHOWN = 12

type Sent = Omit<PlannedRequest, 'kind'> & { kind: Seen['kind']; follows?: readonly string[] }

function unseen(request: Sent, key: string): Seen {
  const { id, kind, way, owner, edge, model, follows = [] } = request
  return {
    id,
    kind,
    follows,
    way,
    owner,
    edge,
    model,
    key: key.slice(0, KEY_SHOWN),
    sentAtMs: Date.now(),
    headAtMs: null,
    endedAtMs: 0,
    status: null,
    requestId: null,
    complete: false,
    done: false,
    finishReason: null,
    text: 'beginning',
    textLength: 0,
    words: 0,
    responseIds: [],
    usage: null,
    errorEvent: null,
    left: false,
    keyState: 'alive',
    problem: null,
    scope: null,
    detail: '',
  }
}
