/**
 * A model of an edge and a router on one core, with their real limits and a clock of its own. Each process takes all work that has
 * come for it as one turn, and the core divides its time among the busy processes. Requests are due at an even rate, and their
 * clients leave after two seconds. The edge dispatches a job again that no router has accepted in 250 ms.
 */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  createShedLimit,
  hasCapacity,
  judge,
  noteRefusedBehind,
  noteWait,
  WINDOW_MS,
} from '../services/edge/src/core/shed-limit.ts'
import { LONGEST_WAIT_MS, WaitingLine } from '../services/edge/src/http/waiting-line.ts'
import { afterTurn, createTurnLimit } from '../services/router/src/core/turn-limit.ts'

/** Shares of a request's work, as a profile of the gateway divides it. */
const PARTS = { arrive: 0.19, admit: 0.15, dispatch: 0.1, job: 0.21, accepted: 0.02, respond: 0.14, deliver: 0.19 }
/** A refusal costs 35 µs where a request costs 300 (`dev/bench/refusals`, `bench overload`). */
const BESIDE = { refuse: 0.12, wait: 0.04, late: 0, giveBack: 0.02, busy: 0.02, tick: 0 }
/** Clients have a connection each, and send on it again as soon as they have a response. The bench has these. */
const CONNECTIONS_PER_CAPACITY = 4 / 3
/** The edge refuses requests that have waited in vain at this interval. */
const REFUSE_EVERY_MS = 50

type Kind = keyof typeof PARTS | keyof typeof BESIDE | 'due' | 'offer' | 'again'

const TIMEOUT_MS = 2_000
/** `dispatch-retries.ts` of the edge. */
const BUSY_TIMEOUT_MS = 1_500
const TICK_MS = 20
/** `LivedTimeout` of the bus: it counts ticks, and reads the sockets before each. */
const ACCEPT_TICKS = { count: 5, ms: 50 }
const STEP_MS = 0.5

interface Request {
  dueAtMs: number
  arrivedAtMs: number
  dispatchedAtMs: number
  timesBusy: number
  /** The number of the dispatch that waits for its accept; 0: none waits. */
  dispatch: number
}

interface Piece {
  kind: Kind
  request: Request
  dispatch?: number
  ticksLeft?: number
}

interface Process {
  inbox: Piece[]
  turn: Piece[]
  /** The time left for the first piece of the turn. */
  leftMs: number
}

interface Outcome {
  /** The share of the requests that the core could have served, or of those that were due where these are fewer. */
  goodput: number
  p99Ms: number
  /** From a request's arrival to a router's acceptance. */
  longestQueueMs: number
  /** The part of all dispatches that followed a dispatch without an accept in time. */
  repeated: number
}

interface Load {
  /** Requests a second. */
  capacity: number
  times: number
  seconds: number
  /** False: the edge refuses at once. */
  mayWait?: boolean
  /** The part of the core that this machine leaves. */
  speedAt?: (nowMs: number) => number
}

function serve({ capacity, times, seconds, mayWait = true, speedAt = () => 1 }: Load): Outcome {
  const shedder = createShedLimit({ targetMs: 250, least: 64, most: 1_024 }, 0)
  const turns = createTurnLimit({ targetMs: 60, least: 32, most: 1_024 })
  const newProcess = (): Process => ({ inbox: [], turn: [], leftMs: 0 })
  const [edge, store, router] = [newProcess(), newProcess(), newProcess()]
  const later: (Piece & { atMs: number })[] = []
  /** The duration of each request. */
  const delivered = new Map<Request, number>()
  let [nowMs, underWay, begun, tickedAtMs, longestQueueMs, ableToDo, offered, owed] = [0, 0, 0, 0, 0, 0, 0, 0]
  let [dispatches, repeated] = [0, 0]
  const line = new WaitingLine()
  const connections = Math.floor(capacity * CONNECTIONS_PER_CAPACITY)
  const open = new Set<Request>()
  const send = (to: Process, kind: Kind, piece: Pick<Piece, 'request' | 'dispatch'>) =>
    void to.inbox.push({ ...piece, kind })
  const hasLeft = ({ dueAtMs }: Request) => nowMs - dueAtMs > TIMEOUT_MS

  /** Decides on a piece when its turn comes. */
  function begin(piece: Piece): void {
    if (piece.kind === 'due') {
      const isAccepted = line.size === 0 && hasCapacity(shedder, underWay, nowMs)
      piece.kind = hasLeft(piece.request) ? 'late' : isAccepted ? 'arrive' : wait(piece.request) ? 'wait' : 'refuse'
    } else if (piece.kind === 'offer') {
      piece.kind = begun < turns.value ? 'job' : 'giveBack'
      if (piece.kind === 'job') begun++
    }
  }

  function wait(request: Request): boolean {
    return (
      mayWait &&
      line.add({
        response: {
          get destroyed() {
            return hasLeft(request)
          },
        },
        bytes: 0,
        untilMs: nowMs + LONGEST_WAIT_MS,
        run: () => send(edge, 'arrive', { request }),
        refuse: () => send(edge, 'refuse', { request }),
      })
    )
  }

  function leave(): void {
    underWay--
    if (line.size > 0 && hasCapacity(shedder, underWay, nowMs)) line.take()?.run()
  }

  function dispatch(request: Request): void {
    const piece = { request, dispatch: (request.dispatch = ++dispatches) }
    send(router, 'offer', piece)
    later.push({ ...piece, kind: 'tick', ticksLeft: ACCEPT_TICKS.count, atMs: nowMs + ACCEPT_TICKS.ms })
  }

  const done: Partial<Record<Kind, (piece: Piece) => void>> = {
    refuse: ({ request }) => void open.delete(request),
    late: ({ request }) => void open.delete(request),
    arrive({ request }) {
      underWay++
      request.arrivedAtMs = nowMs
      send(store, 'admit', { request })
    },
    admit: (piece) => send(edge, 'dispatch', piece),
    dispatch({ request }) {
      request.dispatchedAtMs = nowMs
      dispatch(request)
    },
    tick(piece) {
      const { request, ticksLeft = 0 } = piece
      if (request.dispatch !== piece.dispatch) return
      if (ticksLeft > 1) return void later.push({ ...piece, ticksLeft: ticksLeft - 1, atMs: nowMs + ACCEPT_TICKS.ms })
      repeated++
      dispatch(request)
    },
    giveBack: (piece) => send(edge, 'busy', piece),
    busy({ request, dispatch }) {
      if (request.dispatch !== dispatch) return
      request.dispatch = 0
      if (nowMs - request.dispatchedAtMs < BUSY_TIMEOUT_MS) {
        later.push({ kind: 'again', request, atMs: nowMs + Math.min(500, 25 * 2 ** request.timesBusy++) })
        return
      }
      leave()
      open.delete(request)
      noteRefusedBehind(shedder)
      longestQueueMs = Math.max(longestQueueMs, nowMs - request.arrivedAtMs)
    },
    job(piece) {
      send(edge, 'accepted', piece)
      send(router, 'respond', piece)
    },
    accepted({ request, dispatch }) {
      if (request.dispatch !== dispatch) return
      request.dispatch = 0
      leave()
      noteWait(shedder, request.arrivedAtMs, nowMs)
      longestQueueMs = Math.max(longestQueueMs, nowMs - request.arrivedAtMs)
    },
    respond(piece) {
      const { request } = piece
      // The edge has stopped the worker of an earlier dispatch.
      if (request.dispatch === 0 || request.dispatch === piece.dispatch) send(edge, 'deliver', piece)
    },
    deliver({ request }) {
      open.delete(request)
      if (!hasLeft(request)) delivered.set(request, nowMs - request.dueAtMs)
    },
  }

  function run(process: Process, ms: number): void {
    for (let left = ms; left > 0;) {
      if (process.turn.length === 0) [process.turn, process.inbox] = [process.inbox.toReversed(), []]
      const piece = process.turn.at(-1)
      if (!piece) return
      if (process.leftMs === 0) {
        begin(piece)
        process.leftMs = ({ ...PARTS, ...BESIDE }[piece.kind as keyof typeof PARTS] * 1_000) / capacity
      }
      const spent = Math.min(left, process.leftMs)
      left -= spent
      process.leftMs = process.leftMs - spent < 1e-9 ? 0 : process.leftMs - spent
      if (process.leftMs > 0) return
      process.turn.pop()
      done[piece.kind]?.(piece)
      if (process === router && process.turn.length === 0) endOfTurn()
    }
  }

  function endOfTurn(): void {
    if (nowMs - tickedAtMs < TICK_MS) return
    afterTurn(turns, begun, nowMs - tickedAtMs)
    tickedAtMs = nowMs
    begun = 0
  }

  const untilMs = seconds * 1_000
  for (let [judgedAtMs, refusedAtMs] = [0, 0]; nowMs < untilMs + 2 * TIMEOUT_MS; nowMs += STEP_MS) {
    if (nowMs < untilMs) {
      for (owed += (capacity * times * STEP_MS) / 1_000; owed >= 1; owed--) {
        offered++
        if (open.size >= connections) continue
        const request = { dueAtMs: nowMs, arrivedAtMs: 0, dispatchedAtMs: 0, timesBusy: 0, dispatch: 0 }
        open.add(request)
        send(edge, 'due', { request })
      }
      ableToDo += (capacity * speedAt(nowMs) * STEP_MS) / 1_000
    }
    for (let at = later.length - 1; at >= 0; at--) {
      if (later[at]!.atMs > nowMs) continue
      const piece = later.splice(at, 1)[0]!
      if (piece.kind === 'again') dispatch(piece.request)
      else edge.inbox.push(piece)
    }
    const busy = [edge, store, router].filter(({ inbox, turn }) => inbox.length + turn.length > 0)
    for (const process of busy) run(process, (STEP_MS * speedAt(nowMs)) / busy.length)
    if (nowMs - refusedAtMs >= REFUSE_EVERY_MS) {
      for (const waiting of line.takeDue(nowMs)) waiting.refuse()
      refusedAtMs = nowMs
    }
    if (nowMs - judgedAtMs < WINDOW_MS) continue
    judge(shedder, underWay, nowMs)
    judgedAtMs = nowMs
    for (let free = shedder.value - underWay; free > 0 && hasCapacity(shedder, underWay, nowMs); free--) {
      const next = line.take()
      if (!next) break
      next.run()
    }
  }
  const latencies = [...delivered.values()].toSorted((a, b) => a - b)
  const p99Ms = latencies[Math.floor(latencies.length * 0.99)] ?? Infinity
  return {
    goodput: latencies.length / Math.min(ableToDo, offered),
    p99Ms,
    longestQueueMs,
    repeated: repeated / dispatches,
  }
}

describe.each([300, 1_000, 2_000])('a gateway that does %i requests a second', (capacity) => {
  test.each([1, 2, 3, 5])('does nine of ten of them at %i times that, in time, and dispatches none twice', (times) => {
    const { goodput, p99Ms, longestQueueMs, repeated } = serve({ capacity, times, seconds: 12 })
    expect(goodput).toBeGreaterThanOrEqual(0.9)
    expect(p99Ms).toBeLessThan(TIMEOUT_MS)
    expect(longestQueueMs).toBeLessThan(1_300)
    expect(repeated).toBe(0)
  })
})

test('an edge that refuses at once serves less, since refused clients come back at once', () => {
  const goodput = (mayWait: boolean) =>
    Math.min(...[2, 3, 5].map((times) => serve({ capacity: 2_000, times, seconds: 12, mayWait }).goodput))
  expect(goodput(false)).toBeLessThan(0.85)
  expect(goodput(true)).toBeGreaterThanOrEqual(0.9)
})

/** Evenly spread numbers from 0 to 1. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

test('the gateway serves most of its capacity while other processes take the machine for moments', () => {
  const seeds = fc.noShrink(fc.integer({ min: 0, max: 2 ** 32 - 1 }))
  fc.assert(
    fc.property(fc.integer({ min: 300, max: 2_000 }), fc.constantFrom(1, 2, 3), seeds, (capacity, times, seed) => {
      const random = randomOf(seed)
      // Each moment lasts 250 ms. The machine stands nearly still in one of eight.
      const moments = Array.from({ length: 80 }, () => (random() < 1 / 8 ? 0.02 : 0.4 + 0.6 * random()))
      const speedAt = (nowMs: number) => moments[Math.floor(nowMs / 250) % moments.length]!
      const { goodput, repeated } = serve({ capacity, times, seconds: 12, speedAt })
      expect(goodput).toBeGreaterThan(0.6)
      expect(repeated).toBeLessThan(0.01)
    }),
    { numRuns: 20 },
  )
})
