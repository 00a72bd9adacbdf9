/**
 * The time that calls to Redis have, from when they leave: one clock for all, since each has the same and they leave in
 * order.
 *
 * Time is counted in ticks that this process lived through, {@link TICKS} to a timeout. A machine that stood still,
 * or had no time for us, proves nothing about Redis. Node reads sockets before the immediate in which a tick is
 * counted, so a reply that is there counts. A Redis that is slow is not away. While it replies to the calls before, a
 * call waits for its turn, up to {@link LONGEST_TIMEOUTS} times its time. A connection that is silent for as long is
 * given up.
 */

import { InFlightList, type Entry } from '@gateway/in-flight/collections'

/** The deadline of a call that waits behind others, and of a silent connection, in timeouts. */
export const LONGEST_TIMEOUTS = 4
const TICKS = 10

interface Waiting {
  sentAtMs: number
  /** Set when it leaves. */
  sentAtTick: number
  isOver: boolean
  entry?: Entry
  tooLate(afterMs: number): void
}

interface ResponseDeadlines {
  /**
   * Resolves with the reply, or rejects when it takes too long. `again` may send the call again after an error,
   * within the same time.
   */
  wait<Reply>(reply: Promise<Reply>, again?: (error: unknown) => Promise<Reply> | null): Promise<Reply>
  /** The calls that waited have left: a reply is due. */
  sent(): void
  /** Redis said something, or another connection begins. */
  received(): void
}

export function createResponseDeadlines(
  timeoutMs: number,
  onSilent: (silentMs: number) => void = () => {},
): ResponseDeadlines {
  const leaving: Waiting[] = []
  /** In the order in which they left. */
  const underWay = new InFlightList<Waiting>()
  let tick = 0
  let lastResponseAtTick = -Infinity
  /** The tick since which a reply is due and Redis is silent; undefined while none is due. */
  let silentSinceTick: number | undefined
  let clock: NodeJS.Timeout | undefined

  const isLate = ({ sentAtTick }: Waiting): boolean =>
    tick - Math.max(sentAtTick, lastResponseAtTick) > TICKS || tick - sentAtTick > LONGEST_TIMEOUTS * TICKS

  const countTick = (): void => {
    tick++
    for (const waiting of underWay) {
      if (!isLate(waiting)) break
      waiting.entry?.leave()
      waiting.tooLate(performance.now() - waiting.sentAtMs)
    }
    if (silentSinceTick !== undefined && tick - silentSinceTick >= LONGEST_TIMEOUTS * TICKS) {
      silentSinceTick = undefined
      onSilent(LONGEST_TIMEOUTS * timeoutMs)
    }
    clock = underWay.size > 0 || silentSinceTick !== undefined ? nextTick() : undefined
  }
  const nextTick = (): NodeJS.Timeout => setTimeout(() => setImmediate(countTick), timeoutMs / TICKS).unref()

  return {
    wait: <Reply>(reply: Promise<Reply>, again?: (error: unknown) => Promise<Reply> | null) =>
      new Promise<Reply>((resolve, reject) => {
        const waiting: Waiting = {
          sentAtMs: 0,
          sentAtTick: 0,
          isOver: false,
          tooLate: (afterMs) => reject(new Error(`Redis did not answer within ${Math.floor(afterMs)} ms`)),
        }
        leaving.push(waiting)
        const over = (): void => {
          waiting.isOver = true
          waiting.entry?.leave()
        }
        const replied = (value: Reply): void => {
          lastResponseAtTick = tick
          over()
          resolve(value)
        }
        const failed = (error: unknown): void => {
          over()
          reject(error)
        }
        reply.then(replied, (error: unknown) => {
          const second = again?.(error)
          if (second) second.then(replied, failed)
          else failed(error)
        })
      }),

    sent() {
      const nowMs = performance.now()
      for (const waiting of leaving) {
        if (waiting.isOver) continue
        waiting.sentAtMs = nowMs
        waiting.sentAtTick = tick
        waiting.entry = underWay.join(waiting)
      }
      leaving.length = 0
      silentSinceTick ??= tick
      clock ??= nextTick()
    },

    received() {
      silentSinceTick = undefined
    },
  }
}
