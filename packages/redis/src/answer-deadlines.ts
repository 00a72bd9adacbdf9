/**
 * The time that calls to Redis have, from when they leave: one clock for all, since each has the same and they leave in
 * order.
 *
 * Time is counted in ticks that this process lived through, {@link TICKS} to a timeout: a machine that stood still, or
 * had no time for us, says nothing of Redis. Sockets are read before the immediate in which a tick is counted, so an
 * answer that is there counts. And a Redis that is slow is not away: as long as it goes on answering the calls before, a
 * call waits for its turn, up to {@link LONGEST_TIMEOUTS} times its time. A connection that is silent for as long is given
 * up.
 */

import { InFlightList, type Entry } from '@gateway/in-flight/collections'

/** Of a call that waits behind others, and of a connection that says nothing. */
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
   * The answer, or a rejection when it takes too long. `again` may ask anew where the first answer was an error, within
   * the same time.
   */
  wait<Answer>(answer: Promise<Answer>, again?: (error: unknown) => Promise<Answer> | null): Promise<Answer>
  /** The calls that waited have left: an answer is due. */
  sent(): void
  /** Redis said something, or another connection begins. */
  heard(): void
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
  /** Since when an answer is due and nothing was heard; no tick when none is due. */
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
    wait: <Answer>(answer: Promise<Answer>, again?: (error: unknown) => Promise<Answer> | null) =>
      new Promise<Answer>((resolve, reject) => {
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
        const answered = (value: Answer): void => {
          lastResponseAtTick = tick
          over()
          resolve(value)
        }
        const failed = (error: unknown): void => {
          over()
          reject(error)
        }
        answer.then(answered, (error: unknown) => {
          const second = again?.(error)
          if (second) second.then(answered, failed)
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

    heard() {
      silentSinceTick = undefined
    },
  }
}
