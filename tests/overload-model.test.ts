/**
 * A model of an edge and a router on one core, with their real limits and a clock of its own. Each process takes all work that has
 * come for it as one turn, and the core divides its time among the busy processes. Requests are due at an even rate, and their
 * clients leave after two seconds.
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
import { afterTurn, createTurnLimit } from '../services/router/src/core/turn-limit.ts'

/** Shares of a request's work, as a profile of the gateway divides it. */
const PARTS = { arrive: 0.19, admit: 0.15, dispatch: 0.1, job: 0.21, accepted: 0.02, respond: 0.14, deliver: 0.19 }
const BESIDE = { refuse: 0.01, late: 0, giveBack: 0.02, busy: 0.02 }
type Kind = keyof typeof PARTS | keyof typeof BESIDE | 'due' | 'offer'

const TIMEOUT_MS = 2_000
/** `dispatch-retries.ts` of the edge. */
const BUSY_TIMEOUT_MS = 1_500
const TICK_MS = 20
const STEP_MS = 0.5

interface Request {
  dueAtMs: number
  arrivedAtMs: number
  offeredAtMs: number
  offers: number
}

interface Piece {
  kind: Kind
  request: Request
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
}

interface Load {
  /** Requests a second. */
  capacity: number
  times: number
  seconds: number
  /** The part of the core that this machine leaves. */
  speedAt?: (nowMs: number) => number
}

function serve({ capacity, times, seconds, speedAt = () => 1 }: Load): Outcome {
  const shedder = createShedLimit({ targetMs: 250, least: 64, most: 1_024 }, 0)
  const turns = createTurnLimit({ targetMs: 60, least: 32, most: 1_024 })
  const newProcess = (): Process => ({ inbox: [], turn: [], leftMs: 0 })
  const [edge, store, router] = [newProcess(), newProcess(), newProcess()]
  const later: (Piece & { atMs: number })[] = []
  const latencies: number[] = []
  let [nowMs, underWay, begun, tickedAtMs, longestQueueMs, ableToDo, offered, owed] = [0, 0, 0, 0, 0, 0, 0, 0]
  const send = (to: Process, kind: Kind, request: Request) => void to.inbox.push({ kind, request })
  const hasLeft = ({ dueAtMs }: Request) => nowMs - dueAtMs > TIMEOUT_MS

  /** Decides on a piece when its turn comes. */
  function begin(piece: Piece): void {
    if (piece.kind === 'due') {
      const isAccepted = hasCapacity(shedder, underWay, nowMs)
      piece.kind = hasLeft(piece.request) ? 'late' : isAccepted ? 'arrive' : 'refuse'
    } else if (piece.kind === 'offer') {
      piece.kind = begun < turns.value ? 'job' : 'giveBack'
      if (piece.kind === 'job') begun++
    }
  }

  const done: Partial<Record<Kind, (request: Request) => void>> = {
    arrive(request) {
      underWay++
      request.arrivedAtMs = nowMs
      send(store, 'admit', request)
    },
    admit: (request) => send(edge, 'dispatch', request),
    dispatch(request) {
      request.offeredAtMs = nowMs
      send(router, 'offer', request)
    },
    giveBack: (request) => send(edge, 'busy', request),
    busy(request) {
      if (nowMs - request.offeredAtMs < BUSY_TIMEOUT_MS) {
        const afterMs = Math.min(500, 25 * 2 ** request.offers++)
        later.push({ kind: 'offer', request, atMs: nowMs + afterMs })
        return
      }
      underWay--
      noteRefusedBehind(shedder)
      longestQueueMs = Math.max(longestQueueMs, nowMs - request.arrivedAtMs)
    },
    job(request) {
      send(edge, 'accepted', request)
      send(router, 'respond', request)
    },
    accepted({ arrivedAtMs }) {
      underWay--
      noteWait(shedder, arrivedAtMs, nowMs)
      longestQueueMs = Math.max(longestQueueMs, nowMs - arrivedAtMs)
    },
    respond: (request) => send(edge, 'deliver', request),
    deliver(request) {
      if (!hasLeft(request)) latencies.push(nowMs - request.dueAtMs)
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
      done[piece.kind]?.(piece.request)
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
  for (let judgedAtMs = 0; nowMs < untilMs + 2 * TIMEOUT_MS; nowMs += STEP_MS) {
    if (nowMs < untilMs) {
      for (owed += (capacity * times * STEP_MS) / 1_000; owed >= 1; owed--) {
        offered++
        send(edge, 'due', { dueAtMs: nowMs, arrivedAtMs: 0, offeredAtMs: 0, offers: 0 })
      }
      ableToDo += (capacity * speedAt(nowMs) * STEP_MS) / 1_000
    }
    for (let at = later.length - 1; at >= 0; at--) {
      if (later[at]!.atMs <= nowMs) send(router, 'offer', later.splice(at, 1)[0]!.request)
    }
    const busy = [edge, store, router].filter(({ inbox, turn }) => inbox.length + turn.length > 0)
    for (const process of busy) run(process, (STEP_MS * speedAt(nowMs)) / busy.length)
    if (nowMs - judgedAtMs < WINDOW_MS) continue
    judge(shedder, underWay, nowMs)
    judgedAtMs = nowMs
  }
  latencies.sort((a, b) => a - b)
  const p99Ms = latencies[Math.floor(latencies.length * 0.99)] ?? Infinity
  return { goodput: latencies.length / Math.min(ableToDo, offered), p99Ms, longestQueueMs }
}

describe.each([300, 1_000, 2_000])('a gateway that does %i requests a second', (capacity) => {
  test.each([1, 2, 3, 5])('does nine of ten of them at %i times that, in time', (times) => {
    const { goodput, p99Ms, longestQueueMs } = serve({ capacity, times, seconds: 12 })
    expect(goodput).toBeGreaterThanOrEqual(0.9)
    expect(p99Ms).toBeLessThan(1_300)
    expect(longestQueueMs).toBeLessThan(1_300)
  })
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
      expect(serve({ capacity, times, seconds: 12, speedAt }).goodput).toBeGreaterThan(0.7)
    }),
    { numRuns: 20 },
  )
})
