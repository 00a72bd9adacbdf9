/**
 * The time that calls to Redis have, from when they leave: one timer for all, since each has the same and they leave in
 * order.
 *
 * A Redis that is slow is not away: as long as it goes on answering the calls before, a call waits for its turn, up to
 * {@link LONGEST_TIMEOUTS} times its time. An answer that arrived while this process was too busy to read it counts:
 * sockets are read before the immediate that comes after the timer.
 */

import { InFlightList, type Place } from '@gateway/in-flight/list'

/** Of a call that waits behind others. */
export const LONGEST_TIMEOUTS = 4

interface Waiting {
  /** Infinity until it has left. */
  sentAtMs: number
  isOver: boolean
  place?: Place
  tooLate(afterMs: number): void
}

export interface AnswerDeadlines {
  /**
   * The answer, or a rejection when it takes too long. `again` may ask anew where the first answer was an error, within
   * the same time.
   */
  wait<Answer>(answer: Promise<Answer>, again?: (error: unknown) => Promise<Answer> | null): Promise<Answer>
  /** What waited to leave has left. */
  sent(): void
}

export function createAnswerDeadlines(timeoutMs: number): AnswerDeadlines {
  const leaving: Waiting[] = []
  /** In the order in which they left. */
  const underWay = new InFlightList<Waiting>()
  let lastAnswerAtMs = -Infinity
  let timer: NodeJS.Timeout | undefined

  const dueAtMs = ({ sentAtMs }: Waiting): number =>
    Math.min(Math.max(sentAtMs, lastAnswerAtMs) + timeoutMs, sentAtMs + LONGEST_TIMEOUTS * timeoutMs)

  const expire = (): void => {
    timer = undefined
    const nowMs = performance.now()
    for (const waiting of underWay) {
      const leftMs = dueAtMs(waiting) - nowMs
      if (leftMs > 0) {
        expireAfter(leftMs)
        return
      }
      waiting.place?.leave()
      waiting.tooLate(nowMs - waiting.sentAtMs)
    }
  }
  const expireAfter = (ms: number): void => {
    timer = setTimeout(() => setImmediate(expire), ms).unref()
  }

  return {
    wait: <Answer>(answer: Promise<Answer>, again?: (error: unknown) => Promise<Answer> | null) =>
      new Promise<Answer>((resolve, reject) => {
        const waiting: Waiting = {
          sentAtMs: Infinity,
          isOver: false,
          tooLate: (afterMs) => reject(new Error(`Redis did not answer within ${Math.floor(afterMs)} ms`)),
        }
        leaving.push(waiting)
        const over = (): void => {
          waiting.isOver = true
          waiting.place?.leave()
        }
        const answered = (value: Answer): void => {
          lastAnswerAtMs = performance.now()
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
        waiting.place = underWay.join(waiting)
      }
      leaving.length = 0
      if (timer === undefined && underWay.size > 0) expireAfter(timeoutMs)
    },
  }
}
